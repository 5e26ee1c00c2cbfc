import { CorruptDataError } from '../errors.ts';

const FRAME_MAGIC = 0xfd2fb528;
const BLOCK_OUTPUT_BYTES_MAX = 128 * 1024;
const DICTIONARY_ID_BYTES = [0, 1, 2, 4] as const;
const CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const;

/** Lower levels search back only 1 or 2 MiB. Searching the whole block finds more at no cost in time. */
const BLOCK_WINDOW_LOG = 22;
/** From this level, zstd searches back that far by default. */
const FAR_LEVEL = 10;

/** Returns the window of the compressor as a power of two; 0 means the default of the level. */
export function windowLogOf(level: number): number {
  return level < FAR_LEVEL ? BLOCK_WINDOW_LOG : 0;
}

/**
 * Returns the maximum decompressed length of a zstd frame, from its block headers alone (RFC 8878, 3.1.1). Some
 * decoders have no limit, and a few malicious bytes could otherwise fill the memory.
 * @throws CorruptDataError unless the bytes are exactly one frame
 */
export function frameOutputBytesMax(frame: Buffer): number {
  if (frame.length < 6 || frame.readUInt32LE(0) !== FRAME_MAGIC) throw corrupt('no zstd frame');
  let offset = 4 + headerBytes(frame[4]!);
  let outputBytes = 0;
  for (let last = false; !last;) {
    if (offset + 3 > frame.length) throw corrupt('the zstd frame ends early');
    const header = frame.readUIntLE(offset, 3);
    last = (header & 1) === 1;
    const type = (header >> 1) & 3;
    const size = header >> 3;
    outputBytes += type === 2 ? BLOCK_OUTPUT_BYTES_MAX : size;
    offset += 3 + (type === 1 ? 1 : size);
  }
  // A decoder would treat bytes after the frame as another frame. Only the optional checksum may follow.
  const checksumBytes = (frame[4]! & 4) === 0 ? 0 : 4;
  if (offset + checksumBytes !== frame.length) throw corrupt('the zstd frame does not end with its block');
  return outputBytes;
}

/** @throws CorruptDataError unless the bytes are exactly one frame */
export function assertOneFrame(frame: Buffer): void {
  frameOutputBytesMax(frame);
}

function headerBytes(descriptor: number): number {
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const contentSizeFlag = descriptor >> 6;
  const contentSizeBytes = contentSizeFlag === 0 && isSingleSegment ? 1 : CONTENT_SIZE_BYTES[contentSizeFlag]!;
  return 1 + (isSingleSegment ? 0 : 1) + DICTIONARY_ID_BYTES[descriptor & 3]! + contentSizeBytes;
}

function corrupt(message: string): CorruptDataError {
  return new CorruptDataError(`a compressed block is damaged: ${message}`);
}

/** Zstandard (RFC 8878), synchronous, on the calling thread. */
export interface Zstd {
  /** Returns one frame that contains `raw`, valid until the next call. `level`: from -7 to 22. */
  compress(raw: Uint8Array, level: number): Uint8Array;
  /** Decompresses a frame into `target` and returns the length. Throws if the frame is broken or does not fit. */
  decompressInto(target: Uint8Array, frame: Buffer): number;
  /** Frees memory that the garbage collector cannot free. The last call. */
  close?(): void;
}
