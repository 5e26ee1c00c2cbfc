import { Cursor, checksumOf, demand, sha256 } from './stranger-bytes.ts';
import type { Spans } from './stranger-bytes.ts';

/** docs/format.md, "Trees" and "Checkpoints". */

export interface StrangerEntry {
  readonly name: string;
  readonly type: number;
  readonly mode: number;
  readonly mtimeNs: bigint;
  /** Of a file. */
  readonly sizeBytes?: number;
  readonly chunkIds?: readonly string[];
  /** Of a directory. */
  readonly treeId?: string;
  /** Of a symlink, one character per byte. */
  readonly target?: string;
}

const FILE = 1;
const DIRECTORY = 2;
const SYMLINK = 3;
const DEVICES: readonly number[] = [5, 6];
const HARDLINK = 2;

/** The entries of a directory. Names have one character per byte. */
export function parseTree(bytes: Uint8Array, spans?: Spans): StrangerEntry[] {
  const cursor = new Cursor(bytes, spans);
  cursor.magic('LDMT');
  demand(cursor.u16() === 1, 'unknown version');
  cursor.zeros(2);
  const [ownerCount, entryCount] = [cursor.u32(), cursor.u32()];
  for (let i = 0; i < ownerCount; i++) {
    void cursor.take(8);
    const nameBytes = cursor.u8() + cursor.u8();
    void cursor.take(nameBytes);
  }
  const entries: StrangerEntry[] = [];
  for (let i = 0; i < entryCount; i++) {
    const entryBytes = new Cursor(bytes.subarray(cursor.offset)).u32();
    const entry = parseEntry(cursor.record(entryBytes), ownerCount);
    demand(i === 0 || entries[i - 1]!.name < entry.name, 'the names are not sorted');
    entries.push(entry);
  }
  cursor.end();
  return entries;
}

function parseEntry(cursor: Cursor, ownerCount: number): StrangerEntry {
  void cursor.u32();
  const [type, flags, mode] = [cursor.u8(), cursor.u8(), cursor.u16()];
  demand(cursor.u32() < ownerCount, 'there is no such owner');
  const nanoseconds = cursor.u32();
  const mtimeNs = cursor.i64() * 1_000_000_000n + BigInt(nanoseconds);
  void cursor.take(8 + 4 + 8);
  const nameBytes = cursor.u16();
  cursor.zeros(2);
  const name = cursor.take(nameBytes).toString('latin1');
  demand(name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name), 'a name could lead elsewhere');
  const entry = { name, type, mode, mtimeNs, ...parsePart(cursor, type) };
  if ((flags & HARDLINK) !== 0) void cursor.take(12);
  while (cursor.leftBytes > 0) {
    void cursor.u16();
    cursor.zeros(2);
    void cursor.take(cursor.u32());
  }
  return entry;
}

function parsePart(cursor: Cursor, type: number): Partial<StrangerEntry> {
  if (type === FILE) {
    const sizeBytes = cursor.u64();
    return { sizeBytes, chunkIds: cursor.hexes(cursor.u32(), 20) };
  }
  if (type === DIRECTORY) return { treeId: cursor.hex(20) };
  if (type === SYMLINK) return { target: cursor.take(cursor.u16()).toString('latin1') };
  if (DEVICES.includes(type)) void cursor.take(8);
  return {};
}

export interface StrangerCheckpoint {
  readonly segments: readonly string[];
  readonly snapshots: readonly { readonly id: string; readonly tree: string; readonly manifest: Buffer }[];
  readonly packs: readonly { readonly id: string; readonly sizeBytes: number; readonly storedBytes: number }[];
  readonly chunks: readonly StrangerLocation[];
}

/** What a checkpoint says of a chunk. */
export interface StrangerLocation {
  readonly id: string;
  /** Index of its pack. */
  readonly pack: number;
  readonly blockOffset: number;
  readonly offsetInBlock: number;
  readonly lengthBytes: number;
  readonly storedBytes: number;
  readonly references: number;
}

/** The parts of a decrypted checkpoint that name things. */
export function parseCheckpoint(bytes: Buffer, spans?: Spans): StrangerCheckpoint {
  demand(sha256(bytes.subarray(0, -32)) === bytes.subarray(-32).toString('hex'), 'wrong digest');
  const cursor = new Cursor(bytes.subarray(0, -32), spans);
  cursor.magic('LDMFILT1');
  demand(cursor.u32() === 1, 'unknown version');
  void cursor.u32s(3);
  void cursor.take(8);
  const [segmentCount, absentCount, snapshotCount, packCount] = cursor.u32s(4) as [number, number, number, number];
  const [snapshotBytes, counterBytes] = [cursor.u64(), cursor.u64()];
  const [liveCount, deadCount, liveHeads, deadHeads] = cursor.u32s(4) as [number, number, number, number];
  demand(cursor.u32() === checksumOf(bytes.subarray(0, 80)), 'the header has a wrong checksum');
  const segments = cursor.hexes(segmentCount, 32);
  void cursor.take(32 * absentCount);
  const snapshotEnd = cursor.offset + snapshotBytes;
  const snapshots = Array.from({ length: snapshotCount }, () => {
    const [id, tree] = [cursor.hex(32), cursor.hex(20)];
    return { id, tree, manifest: cursor.take(cursor.u32()) };
  });
  demand(cursor.offset === snapshotEnd, 'the snapshots have another length');
  const packs = Array.from({ length: packCount }, () => {
    const pack = { id: cursor.hex(32), sizeBytes: cursor.u64(), storedBytes: cursor.u64() };
    void cursor.take(4 + 1 + 3);
    return pack;
  });
  void cursor.take(counterBytes + 4 * liveHeads + 4 * deadHeads);
  const chunks = Array.from({ length: liveCount + deadCount }, () => parseLocation(cursor));
  cursor.end();
  return { segments, snapshots, packs, chunks };
}

function parseLocation(cursor: Cursor): StrangerLocation {
  const id = cursor.hex(20);
  const [pack, blockOffset, offsetInBlock, lengthBytes] = cursor.u32s(4) as [number, number, number, number];
  const [storedBytes, references] = cursor.u32s(2) as [number, number];
  void cursor.u32();
  return { id, pack, blockOffset, offsetInBlock, lengthBytes, storedBytes, references };
}
