import { createHash } from 'node:crypto';
import { CorruptDataError } from '../../../src/core/errors.ts';
import { blockBytes } from '../../../src/core/format/block.ts';
import type { ChunkKind } from '../../../src/core/format/chunk-kind.ts';
import { PACK_HEADER_BYTES } from '../../../src/core/format/pack.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import type { PackedBlock } from '../../../src/core/format/packed-block.ts';
import { encodeTree } from '../../../src/core/format/tree/tree.ts';
import { NO_ATTRIBUTES } from '../../../src/core/format/tree/tree-entry.ts';
import type { TreeEntry } from '../../../src/core/format/tree/tree.ts';
import { FilterState } from '../../../src/core/ldm/filter-state.ts';
import type { FoldedSnapshot } from '../../../src/core/ldm/filter-state.ts';
import { addSegment, retainSnapshot } from '../../../src/core/ldm/fold.ts';
import type { ReadTree } from '../../../src/core/ldm/fold.ts';
import { planFilter } from '../../../src/core/ldm/formulas.ts';
import { LdmFilter } from '../../../src/core/ldm/ldm-filter.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';

/** A chunk of the tests' repositories: a leaf (a piece of a file) or a tree with the chunks below it. */
export interface Chunk {
  readonly kind: ChunkKind;
  /** 20 bytes. */
  readonly id: Buffer;
  readonly hex: string;
  readonly bytes: Buffer;
  readonly children: readonly Chunk[];
}

export function leaf(name: number | string): Chunk {
  const id = sha1(`leaf ${name}`);
  return {
    kind: 'data',
    id,
    hex: id.toString('hex'),
    bytes: Buffer.alloc(1 + (id.readUInt16LE() % 900)),
    children: [],
  };
}

/** A directory whose entries are `children`: a sub-directory for a tree, a file of one chunk for a leaf. */
export function tree(...children: readonly Chunk[]): Chunk {
  const bytes = encodeTree(children.map((child, index) => entryFor(child, `n${String(index).padStart(5, '0')}`)));
  const id = sha1(bytes);
  return { kind: 'tree', id, hex: id.toString('hex'), bytes, children };
}

export function pack(id: string, chunks: readonly Chunk[], chunksPerBlock = 3): PackContents {
  const blocks: PackedBlock[] = [];
  let offset = PACK_HEADER_BYTES;
  for (let start = 0; start < chunks.length; start += chunksPerBlock) {
    const block = blockOf(chunks.slice(start, start + chunksPerBlock), offset);
    offset += block.sizeBytes;
    blocks.push(block);
  }
  return { id, kind: chunks[0]?.kind ?? 'data', sizeBytes: offset + 100, isSealed: false, blocks };
}

/** A file id that is the smaller, the smaller the number. */
export function fileId(number: number): string {
  return number.toString(16).padStart(64, '0');
}

export function snapshotOf(root: Chunk): FoldedSnapshot {
  return { tree: root.id, manifest: Buffer.from(`manifest of ${root.hex}`) };
}

/** All chunks that a chunk needs, with itself. */
export function closureOf(...roots: readonly Chunk[]): Chunk[] {
  const seen = new Map<string, Chunk>();
  const open = [...roots];
  for (let chunk = open.pop(); chunk !== undefined; chunk = open.pop()) {
    if (seen.has(chunk.hex)) continue;
    seen.set(chunk.hex, chunk);
    open.push(...chunk.children);
  }
  return [...seen.values()];
}

export function emptyState(capacity = 16): FilterState {
  return new FilterState(new LdmFilter(planFilter({ capacity })));
}

/** A state with one pack for the leaves, one for the trees, and a snapshot for each root. */
export async function stateOf(roots: readonly Chunk[]): Promise<FilterState> {
  const state = emptyState();
  const chunks = closureOf(...roots);
  const packs = [
    pack(
      fileId(1),
      chunks.filter(({ kind }) => kind === 'data'),
    ),
    pack(
      fileId(2),
      chunks.filter(({ kind }) => kind === 'tree'),
    ),
  ];
  addSegment(state, fileId(3), packs, () => true);
  for (const [index, root] of roots.entries()) {
    await retainSnapshot(state, fileId(10 + index), snapshotOf(root), treeReader(state, chunks));
  }
  return state;
}

/** Reads trees from a list of chunks; what is not on it is damaged. `pauses` answers with promises instead. */
export function treeReader(state: FilterState, chunks: Iterable<Chunk>, pauses = false): ReadTree {
  const byId = new Map(Array.from(chunks, (chunk) => [chunk.hex, chunk.bytes]));
  const buffer = Buffer.alloc(1 << 20);
  return (entry) => {
    const hex = idOf(state, entry);
    const bytes = byId.get(hex);
    if (bytes === undefined) throw new CorruptDataError(`tree ${hex} is damaged`);
    // One buffer for all, as a careful reader would: the bytes are valid until the next call only.
    bytes.copy(buffer.fill(0xff, 0, 256));
    const view = buffer.subarray(0, bytes.length);
    return pauses ? Promise.resolve(view) : view;
  };
}

export function idOf(state: FilterState, entry: number): string {
  const id = Buffer.alloc(20);
  state.filter.copyId(entry, id, 0);
  return id.toString('hex');
}

export function refsOf(state: FilterState, chunk: Chunk): number {
  const entry = state.filter.find(chunk.id, 0);
  return entry < 0 ? 0 : state.filter.refs(entry);
}

/** All that a state says, in a form that compares: by id, whatever the order of entries and packs in memory. */
export function describeState(state: FilterState): unknown {
  const chunks: Record<string, unknown> = {};
  state.filter.forEachEntry((entry) => {
    const { packIndex, ...place } = state.filter.location(entry);
    const packId = state.filter.hasLocation(entry) ? state.packs.get(packIndex).id : 'missing';
    chunks[idOf(state, entry)] = { refs: state.filter.refs(entry), packId, ...place };
  });
  const packs: Record<string, unknown> = {};
  state.packs.forEach((info) => {
    packs[info.id] = info;
  });
  const snapshots = Array.from(state.snapshots, ([id, { tree: root, manifest }]) => [
    id,
    Buffer.from(root).toString('hex'),
    Buffer.from(manifest).toString(),
  ]);
  return {
    chunks,
    packs,
    snapshots: snapshots.map(String).sort(),
    segments: [...state.segments].sort(),
    absentPacks: [...state.absentPacks].sort(),
    unreadableTrees: Array.from(state.unreadableTrees, String).sort(),
    counts: [state.filter.liveCount, state.filter.deadCount, state.filter.missingCount],
  };
}

/** The first chunk or list in which two states differ, found faster than by comparing their descriptions. */
export function findDifference(left: FilterState, right: FilterState): string | undefined {
  const summaries = [left, right].map((state) => {
    const { filter } = state;
    const lists = [state.segments, state.snapshots.keys(), state.absentPacks, state.unreadableTrees.keys()];
    return [
      filter.liveCount,
      filter.deadCount,
      filter.missingCount,
      ...lists.map((list) => [...list].sort().join()),
    ].join(';');
  });
  if (summaries[0] !== summaries[1]) return summaries.join(' / ');
  let difference: string | undefined;
  const id = Buffer.alloc(20);
  left.filter.forEachEntry((entry) => {
    left.filter.copyId(entry, id, 0);
    const other = right.filter.find(id, 0);
    const places = other < 0 ? ['known', 'not known'] : [placeOf(left, entry), placeOf(right, other)];
    if (places[0] !== places[1]) difference = `${id.toString('hex')}: ${places.join(' / ')}`;
  });
  return difference;
}

function placeOf({ filter, packs }: FilterState, entry: number): string {
  const { packIndex, blockOffset, offsetInBlock, lengthBytes, storedBytes } = filter.location(entry);
  const packId = filter.hasLocation(entry) ? packs.get(packIndex).id : 'missing';
  return [filter.refs(entry), packId, blockOffset, offsetInBlock, lengthBytes, storedBytes].join();
}

/** The number of edges to each chunk in the graph of live trees, counted by walking from the roots. */
export function recount(roots: readonly Chunk[]): Map<string, number> {
  const refs = new Map<string, number>();
  for (const chunk of [...roots, ...closureOf(...roots).flatMap(({ children }) => children)]) {
    refs.set(chunk.hex, (refs.get(chunk.hex) ?? 0) + 1);
  }
  return refs;
}

function blockOf(chunks: readonly Chunk[], offset: number): PackedBlock {
  const chunkLengths = Uint32Array.from(chunks, ({ bytes }) => bytes.length);
  const rawBytes = chunkLengths.reduce((sum, length) => sum + length, 0);
  const storedBytes = Math.ceil(rawBytes / 3);
  return {
    offset,
    sizeBytes: blockBytes(chunkLengths.length, storedBytes),
    codec: 'zstd',
    rawBytes,
    storedBytes,
    chunkIds: Buffer.concat(chunks.map(({ id }) => id)),
    chunkLengths,
  };
}

function entryFor(child: Chunk, name: string): TreeEntry {
  const isTree = child.kind === 'tree';
  const none = byteStringFromText('');
  return {
    name: byteStringFromText(name),
    type: isTree ? 'directory' : 'file',
    mode: 0o644,
    uid: 0,
    gid: 0,
    user: none,
    group: none,
    mtimeSeconds: 0,
    mtimeNanoseconds: 0,
    ctimeSeconds: 0,
    ctimeNanoseconds: 0,
    inode: 0n,
    sizeBytes: isTree ? 0 : child.bytes.length,
    chunkIds: isTree ? new Uint8Array(0) : child.id,
    treeId: isTree ? child.id : undefined,
    linkTarget: none,
    deviceMajor: 0,
    deviceMinor: 0,
    hardlink: undefined,
    changedWhileRead: false,
    ...NO_ATTRIBUTES,
    extensions: [],
  };
}

function sha1(content: string | Uint8Array): Buffer {
  return createHash('sha1').update(content).digest();
}
