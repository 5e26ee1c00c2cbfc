import type { Backend } from '../backend/backend.ts';
import { readSurely } from '../backend/sure-reading.ts';
import { CorruptDataError, isAbsent, isDamage, isDenied } from '../errors.ts';
import { baseName, packName } from '../format/layout.ts';
import { PACK_HEADER_BYTES, PACK_TRAILER_BYTES, decodePackFooter } from '../format/pack.ts';
import { decodePackHeader } from '../format/pack-header.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import type { PackContents } from '../format/pack.ts';
import { BLOCK_PREFIX_BYTES, sizeOfBlock } from './block-codec.ts';
import type { BlockCodec } from './block-codec.ts';
import type { BufferPool } from './buffer-pool.ts';
import { locatePackEnd, openPackEnd, trailerBytesOf } from './pack-end.ts';
import type { FilePlace } from './pack-end.ts';

/**
 * Returns ids that stand for the single copies of a pack, if it is in several groups: to verify, read and set aside each
 * by itself. Empty if there are not several.
 */
export async function copyIdsOf(backend: Backend, packId: string): Promise<string[]> {
  const names = (await backend.copiesOf?.(packName(packId))) ?? [];
  return names.length > 1 ? names.map(baseName) : [];
}

/** Where a block is stored, from a verified segment or filter state. */
export interface BlockPlace {
  readonly packId: string;
  readonly offset: number;
  /** Size of the pack. No memory is allocated for a block that ends behind it, whatever its header says. */
  readonly packBytes: number;
  /** The size of the first read. The rest of a longer block is read separately. */
  readonly expectedBytes: number;
}

/** A block whose first read has begun, into a buffer of a pool. */
export interface BegunBlock {
  readonly sizeBytes: number;
  readonly buffer: Promise<Buffer>;
}

/** Sends the request for the first read of a block. */
export function beginBlock(backend: Backend, place: BlockPlace, pool: BufferPool): BegunBlock {
  const sizeBytes = firstBytesOf(place);
  const read = async (): Promise<Buffer> => {
    const buffer = pool.take(sizeBytes);
    await backend.readRange(packName(place.packId), place.offset, buffer.subarray(0, sizeBytes));
    return buffer;
  };
  const buffer = read();
  // The error is reported when the block is opened.
  buffer.catch(() => undefined);
  return { sizeBytes, buffer };
}

/**
 * Reads the bytes of a block as it is stored. Damage is a `CorruptDataError` with the pack and the offset. By default
 * the bytes get their own memory, so that they can be transferred to a thread.
 */
export async function readStoredBlock(
  backend: Backend,
  place: BlockPlace,
  allocate: (sizeBytes: number) => Buffer = (sizeBytes) => Buffer.allocUnsafeSlow(sizeBytes),
  first?: Promise<Buffer>,
): Promise<Buffer> {
  const { packId, offset, packBytes } = place;
  const name = packName(packId);
  try {
    const begun = await readBeginning(backend, place, allocate, first);
    const sizeBytes = sizeOfBlock(begun);
    const endOffset = offset + sizeBytes;
    if (endOffset > packBytes)
      throw new CorruptDataError(`the block ends at ${endOffset}, but the pack at ${packBytes}`);
    if (sizeBytes <= begun.length) return begun.subarray(0, sizeBytes);
    const bytes = allocate(sizeBytes);
    bytes.set(begun);
    await backend.readRange(name, offset + begun.length, bytes.subarray(begun.length));
    return bytes;
  } catch (error) {
    throw located(error, `${name} at offset ${offset}`);
  }
}

/** The expected size of a block, or at least that of the prefix that contains its size. */
function firstBytesOf({ offset, packBytes, expectedBytes }: BlockPlace): number {
  return Math.min(Math.max(0, packBytes - offset), Math.max(expectedBytes, BLOCK_PREFIX_BYTES));
}

/** `first`: the first read, if it has begun. */
async function readBeginning(
  backend: Backend,
  place: BlockPlace,
  allocate: (sizeBytes: number) => Buffer,
  first: Promise<Buffer> | undefined,
): Promise<Buffer> {
  const { packId, offset, packBytes } = place;
  if (packBytes - offset < BLOCK_PREFIX_BYTES) throw new CorruptDataError(`the pack ends at ${packBytes}`);
  const read = async (sizeBytes: number): Promise<Buffer> => {
    const bytes = allocate(sizeBytes);
    await backend.readRange(packName(packId), offset, bytes);
    return bytes;
  };
  try {
    return await (first ?? read(firstBytesOf(place)));
  } catch (error) {
    // The unreadable part may lie beyond this block.
    if (!isDamage(error) || isDenied(error)) throw error;
    return await read(BLOCK_PREFIX_BYTES);
  }
}

const MISSING = 'the pack is missing';
const OTHER_SEALING = 'only one of the pack and the repository is encrypted';

/**
 * The raw bytes of a block, and the ids of its chunks computed from these bytes. The user of a chunk compares its id.
 */
export interface HashedBlock {
  /** A buffer of the given pool, which contains `raw`. */
  readonly buffer: Buffer;
  readonly kind: ChunkKind;
  readonly raw: Uint8Array;
  readonly chunkIds: Uint8Array;
  readonly chunkLengths: Uint32Array;
  /** Offset of each chunk in `raw`, ascending. */
  readonly chunkOffsets: Uint32Array;
}

/** Reads a block, decompresses it and hashes its chunks in the task pool, in shared memory of `pool`. */
export async function readHashedBlock(
  backend: Backend,
  place: BlockPlace,
  codec: BlockCodec,
  pool: BufferPool,
  begun?: BegunBlock,
): Promise<HashedBlock> {
  return await readSurely(backend, packName(place.packId), async (from) =>
    readBlockOnce(from, place, codec, pool, from === backend ? begun : undefined),
  );
}

/** The same, but what is wrong is not read again. */
export async function readBlockOnce(
  backend: Backend,
  place: BlockPlace,
  codec: BlockCodec,
  pool: BufferPool,
  begun?: BegunBlock,
): Promise<HashedBlock> {
  const taken: Buffer[] = [];
  const take = (sizeBytes: number): Buffer => {
    taken.push(pool.take(sizeBytes));
    return taken.at(-1)!.subarray(0, sizeBytes);
  };
  const first = begun?.buffer.then((buffer) => {
    taken.push(buffer);
    return buffer.subarray(0, begun.sizeBytes);
  });
  try {
    const stored = await readStoredBlock(backend, place, take, first);
    const { header, raw, chunkIds } = await codec.open(stored, take);
    const { kind, chunkLengths } = header;
    // The buffer taken last contains the raw bytes.
    const buffer = taken.pop()!;
    return { buffer, raw, chunkIds, kind, chunkLengths, chunkOffsets: startsOf(chunkLengths) };
  } catch (error) {
    throw located(error, `${packName(place.packId)} at offset ${place.offset}`);
  } finally {
    for (const buffer of taken) pool.give(buffer);
  }
}

/** Returns the offset of each chunk in a block. */
export function startsOf(lengths: Uint32Array): Uint32Array {
  const starts = new Uint32Array(lengths.length);
  for (let index = 1; index < lengths.length; index += 1) starts[index] = starts[index - 1]! + lengths[index - 1]!;
  return starts;
}

/** A footer of 2,700 chunks. Fewer bytes would not take less time in a place where a call takes milliseconds. */
const TAIL_BYTES = 64 * 1024;

/**
 * Reads the contents of a pack from its own footer. With `listedBytes`, its size as it was listed, that takes two calls;
 * three if the footer is long.
 */
export async function readPackContents(place: FilePlace, packId: string, listedBytes?: number): Promise<PackContents> {
  const { backend, seals } = place;
  const name = packName(packId);
  try {
    return await readSurely(backend, name, async (from) => {
      // If that is wrong, so may be the listing.
      const sizeBytes = (from === backend ? listedBytes : undefined) ?? (await from.sizeOf(name));
      if (sizeBytes === undefined) throw new CorruptDataError(MISSING);
      return await readFooter({ backend: from, seals }, packId, sizeBytes);
    });
  } catch (error) {
    throw located(error, name);
  }
}

async function readFooter(place: FilePlace, packId: string, sizeBytes: number): Promise<PackContents> {
  const { backend, seals } = place;
  const name = packName(packId);
  if (sizeBytes < PACK_HEADER_BYTES + PACK_TRAILER_BYTES)
    throw new CorruptDataError(`it is only ${sizeBytes} bytes long`);
  const header = Buffer.allocUnsafe(PACK_HEADER_BYTES);
  await backend.readRange(name, 0, header);
  const isSealed = seals.keys !== undefined;
  const { kind: plainKind } = decodePackHeader(header);
  const { kind = plainKind, footer } = openPackEnd(await readPackEnd(place, name, sizeBytes), seals);
  if (kind === undefined || (plainKind === undefined) !== isSealed) throw new CorruptDataError(OTHER_SEALING);
  return decodePackFooter(footer, { id: packId, kind, sizeBytes, isSealed });
}

/** Reads what comes after the last block. */
async function readPackEnd({ backend, seals }: FilePlace, name: string, packBytes: number): Promise<Buffer> {
  const readLast = async (sizeBytes: number): Promise<Buffer> => {
    const bytes = Buffer.allocUnsafe(sizeBytes);
    await backend.readRange(name, packBytes - sizeBytes, bytes);
    return bytes;
  };
  const tail = await readLast(Math.min(TAIL_BYTES, packBytes)).catch(async (error: unknown) => {
    // The unreadable part may lie before the footer.
    if (!isDamage(error) || isDenied(error)) throw error;
    return await readLast(trailerBytesOf(seals));
  });
  const sizeBytes = locatePackEnd(tail, packBytes, seals);
  if (sizeBytes > tail.length) return await readLast(sizeBytes);
  // A copy in memory of its own, because the contents refer to these bytes, and a check keeps those of many packs.
  const end = Buffer.allocUnsafeSlow(sizeBytes);
  tail.copy(end, 0, tail.length - sizeBytes);
  return end;
}

/** Adds to the message of an error of a damaged pack where it is damaged. Returns other errors as they are. */
export function located(error: unknown, where: string): unknown {
  // The pack was removed after its size was read.
  if (isAbsent(error)) return located(new CorruptDataError(MISSING), where);
  if (!(error instanceof CorruptDataError)) return error;
  return new CorruptDataError(`${where}: ${error.message}`, {
    cause: error,
    advice: { code: 'check-data-and-repair' },
  });
}
