import assert from 'node:assert/strict';

import type { Backend } from '../../src/core/backend/backend.ts';
import { decodeBlockHeader } from '../../src/core/format/block.ts';
import { decodeSnapshot } from '../../src/core/format/snapshot.ts';
import { decodeTree } from '../../src/core/format/tree/tree.ts';
import { Repository } from '../../src/core/repository/repository.ts';
import { readPackContents, readStoredBlock } from '../../src/core/store/pack-reader.ts';
import type { BlockPlace } from '../../src/core/store/pack-reader.ts';
import { perform } from '../../src/core/workers/tasks.ts';
import { plainPlace } from './plain-place.ts';

const ID_BYTES = 20;
const FOOTER_CHUNK_BYTES = 24;
const FOOTER_BLOCK_BYTES = 20;
const TRAILER_BYTES = 24;

/** A chunk as the packs themselves have it; no segment and no filter is asked. */
export interface PackedChunk {
  readonly kind: 'data' | 'tree';
  readonly rawBytes: number;
  /** Its share of its block. */
  readonly storedBytes: number;
  readonly packId: string;
  /** Only of trees. */
  readonly bytes: Uint8Array | undefined;
}

/** What a set of chunks needs. */
export interface ChunkTotals {
  readonly chunkCount: number;
  readonly treeCount: number;
  readonly rawBytes: number;
  readonly storedBytes: number;
}

/** Every chunk of every pack, by hex id. Of several copies the one in the pack with the smallest id, as the design says. */
export async function readPackedChunks(backend: Backend): Promise<Map<string, PackedChunk>> {
  const chunks = new Map<string, PackedChunk>();
  const packs = (await backend.list('packs')).map(({ name, sizeBytes }) => ({ id: name.slice(9), sizeBytes }));
  for (const { id, sizeBytes } of packs.sort((a, b) => (a.id < b.id ? -1 : 1))) {
    for (const [chunkId, chunk] of await readPack(backend, id, sizeBytes)) {
      if (!chunks.has(chunkId)) chunks.set(chunkId, chunk);
    }
  }
  return chunks;
}

async function readRaw(backend: Backend, place: BlockPlace): Promise<Uint8Array> {
  const stored = await readStoredBlock(backend, place);
  const { codec, rawBytes, storedBytes } = decodeBlockHeader(stored);
  const payload = new Uint8Array(stored.subarray(stored.length - storedBytes));
  return perform({ name: 'decompress', codec, payload, rawBytes }).raw;
}

async function readPack(backend: Backend, packId: string, sizeBytes: number): Promise<Map<string, PackedChunk>> {
  const { kind, blocks } = await readPackContents(plainPlace(backend), packId);
  const chunkCount = blocks.reduce((count, block) => count + block.chunkLengths.length, 0);
  const footerBytes = blocks.length * FOOTER_BLOCK_BYTES + chunkCount * FOOTER_CHUNK_BYTES + TRAILER_BYTES;
  const chunks = new Map<string, PackedChunk>();
  const place = { packId, packBytes: sizeBytes };
  for (const [index, block] of blocks.entries()) {
    const blockEnd = blocks[index + 1]?.offset ?? sizeBytes - footerBytes;
    const wholeBytes = blockEnd - block.offset;
    const raw =
      kind === 'tree' ? await readRaw(backend, { ...place, offset: block.offset, expectedBytes: 0 }) : undefined;
    let start = 0;
    for (const [position, rawBytes] of block.chunkLengths.entries()) {
      const end = start + rawBytes;
      const share = (offset: number): number => Math.floor((offset / block.rawBytes) * wholeBytes);
      const id = Buffer.from(block.chunkIds.subarray(position * ID_BYTES, (position + 1) * ID_BYTES)).toString('hex');
      const chunk = {
        kind,
        rawBytes,
        storedBytes: share(end) - share(start),
        packId,
        bytes: raw?.subarray(start, end),
      };
      if (!chunks.has(id)) chunks.set(id, chunk);
      start = end;
    }
  }
  return chunks;
}

/** The root trees (hex ids) of the snapshots that are present, by snapshot id. */
export async function readRoots(backend: Backend): Promise<Map<string, string>> {
  const roots = new Map<string, string>();
  for (const { name } of await backend.list('snapshots')) {
    roots.set(name.slice('snapshots/'.length), decodeSnapshot(await backend.read(name)).tree);
  }
  return roots;
}

/**
 * Counts references the plain way: one to each root, and of each tree that is reached, once, one to each child as often
 * as the tree names it. By hex id.
 */
export function countReferences(
  chunks: ReadonlyMap<string, PackedChunk>,
  roots: Iterable<string>,
): Map<string, number> {
  const counts = new Map<string, number>();
  const visit = (id: string): void => {
    const count = (counts.get(id) ?? 0) + 1;
    counts.set(id, count);
    const chunk = chunks.get(id);
    if (chunk === undefined) throw new Error(`chunk ${id} is needed and in no pack`);
    if (count > 1 || chunk.bytes === undefined) return;
    for (const child of childrenOf(chunk.bytes)) visit(child);
  };
  for (const root of roots) visit(root);
  return counts;
}

/** What the repository's filter counts, by hex id; a live chunk that the counters deny fails the test. */
export async function filterCounts(backend: Backend): Promise<Map<string, number>> {
  const repository = await Repository.open({ backend, mode: 'shared' });
  try {
    const { filter } = (await repository.openState()).state;
    const counts = new Map<string, number>();
    filter.forEachEntry((entry, isLive) => {
      if (!isLive) return;
      const id = Buffer.alloc(ID_BYTES);
      filter.copyId(entry, id, 0);
      assert(filter.mayBeLive(id, 0), `false negative: ${id.toString('hex')}`);
      counts.set(id.toString('hex'), filter.refs(entry));
    });
    return counts;
  } finally {
    await repository.close();
  }
}

function childrenOf(tree: Uint8Array): string[] {
  return decodeTree(tree).flatMap((entry) => {
    const ids = Buffer.from(entry.treeId ?? entry.chunkIds);
    return Array.from({ length: ids.length / ID_BYTES }, (_, index) =>
      ids.toString('hex', index * ID_BYTES, (index + 1) * ID_BYTES),
    );
  });
}

export function totalOf(chunks: ReadonlyMap<string, PackedChunk>, ids: Iterable<string>): ChunkTotals {
  const totals = { chunkCount: 0, treeCount: 0, rawBytes: 0, storedBytes: 0 };
  for (const id of ids) {
    const chunk = chunks.get(id)!;
    if (chunk.kind === 'tree') totals.treeCount += 1;
    else totals.chunkCount += 1;
    totals.rawBytes += chunk.rawBytes;
    totals.storedBytes += chunk.storedBytes;
  }
  return totals;
}

/** What only `deleted` snapshots need: reached from them, and from no other. */
export function totalFreedBy(
  chunks: ReadonlyMap<string, PackedChunk>,
  roots: ReadonlyMap<string, string>,
  deleted: ReadonlySet<string>,
): ChunkTotals {
  const rootsOf = (isDeleted: boolean): string[] =>
    [...roots].filter(([id]) => deleted.has(id) === isDeleted).map(([, root]) => root);
  const kept = countReferences(chunks, rootsOf(false));
  return totalOf(
    chunks,
    [...countReferences(chunks, rootsOf(true)).keys()].filter((id) => !kept.has(id)),
  );
}
