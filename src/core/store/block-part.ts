import type { Backend } from '../backend/backend.ts';
import { ENVELOPE_HEADER_BYTES, decryptPart, epochOfHeader } from '../crypto/envelope.ts';
import { isAbsent, isDamage } from '../errors.ts';
import { BLOCK_HEADER_BYTES, blockBytes, decodeBlockPrefix } from '../format/block.ts';
import { packName } from '../format/layout.ts';
import type { BlockCodec } from './block-codec.ts';
import type { BufferPool } from './buffer-pool.ts';
import type { BegunBlock, BlockPlace } from './pack-reader.ts';
import { notItsId } from './stored-chunk.ts';
import type { OpenBlock, StoredChunk } from './stored-chunk.ts';

/** Offsets in the raw bytes of a block. */
export interface BlockSpan {
  readonly start: number;
  readonly end: number;
}

/** Raw bytes of a block that is not compressed. Nothing has verified them. */
interface BlockPart {
  readonly raw: Uint8Array;
  /** Where `raw` begins in the raw bytes of the block. */
  readonly start: number;
}

/** A part whose reads have begun: of its bytes, and of the header of its block. */
export interface BegunPart extends BegunBlock {
  readonly part: { readonly head: Promise<Buffer>; readonly startBytes: number };
}

/**
 * Sends the requests for a part of a block that is not compressed, both at once.
 * @param range - offsets in the stored block, which contain the part
 */
export function beginPart(backend: Backend, place: BlockPlace, range: BlockSpan, pool: BufferPool): BegunPart {
  const name = packName(place.packId);
  const sizeBytes = range.end - range.start;
  const head = Buffer.alloc(ENVELOPE_HEADER_BYTES + BLOCK_HEADER_BYTES);
  const readHead = async (): Promise<Buffer> => {
    await backend.readRange(name, place.offset, head);
    return head;
  };
  const readPart = async (): Promise<Buffer> => {
    const buffer = pool.take(sizeBytes);
    await backend.readRange(name, place.offset + range.start, buffer.subarray(0, sizeBytes));
    return buffer;
  };
  const begun = { sizeBytes, buffer: readPart(), part: { head: readHead(), startBytes: range.start } };
  // Who opens it gets the errors.
  for (const reading of [begun.buffer, begun.part.head]) reading.catch(() => undefined);
  return begun;
}

/**
 * Opens a part, whose chunks are verified when they are used. Returns undefined if the whole block must be read: it is
 * compressed after all, damaged or missing.
 * @throws BackendError
 */
export async function openPart(codec: BlockCodec, begun: BegunPart, pool: BufferPool): Promise<OpenBlock | undefined> {
  try {
    const [buffer, head] = await Promise.all([begun.buffer, begun.part.head]);
    const part = decodePart(codec, { ...begun, buffer, head });
    if (part !== undefined) return { bytesOf: (chunk) => cut(codec, part, chunk), release: () => pool.give(buffer) };
  } catch (error) {
    // Reading the whole block says what is wrong, and looks for other copies.
    if (!isDamage(error) && !isAbsent(error)) throw error;
  }
  begun.buffer.then(
    (buffer) => pool.give(buffer),
    () => undefined,
  );
  return undefined;
}

/** @throws CorruptDataError if the bytes are not those of the chunk */
function cut({ hasher }: BlockCodec, { raw, start }: BlockPart, chunk: StoredChunk): Uint8Array {
  const { id, kind, offsetInBlock, lengthBytes } = chunk;
  const offset = Math.max(0, offsetInBlock - start);
  const bytes = raw.subarray(offset, offset + lengthBytes);
  if (Buffer.compare(hasher.idOf(kind, bytes), id) !== 0) throw notItsId(chunk);
  return bytes;
}

function decodePart(
  { seals: { keys } }: BlockCodec,
  { buffer, head, sizeBytes, part }: Omit<BegunPart, 'buffer'> & { readonly buffer: Buffer; readonly head: Buffer },
): BlockPart | undefined {
  const key = keys?.keyOf('blocks', epochOfHeader(head));
  const bodyStart = key === undefined ? 0 : ENVELOPE_HEADER_BYTES;
  const prefix = head.subarray(bodyStart, bodyStart + BLOCK_HEADER_BYTES);
  if (key !== undefined) decryptPart(key, head, 0, prefix);
  const { codec, chunkCount, storedBytes } = decodeBlockPrefix(prefix);
  if (codec !== 'raw') return undefined;
  const payloadStart = bodyStart + blockBytes(chunkCount, 0);
  const from = Math.max(payloadStart, part.startBytes);
  const end = Math.min(payloadStart + storedBytes, part.startBytes + sizeBytes);
  const raw = buffer.subarray(from - part.startBytes, Math.max(from, end) - part.startBytes);
  if (key !== undefined) decryptPart(key, head, from - bodyStart, raw);
  return { raw, start: from - payloadStart };
}
