import { CorruptDataError } from '../errors.ts';
import { openPackagedZstd } from './packaged-zstd.ts';
import { openSystemZstd } from './system-zstd.ts';
import { assertOneFrame } from './zstd-frame.ts';

/** Zstandard (RFC 8878) in one go, on the calling thread. */
export interface Zstd {
  /** One frame of `raw`; its bytes are valid until the next call. `level`: from -7 to 22. */
  compress(raw: Uint8Array, level: number): Uint8Array;
  /** Unfolds a frame into `target` and tells the length; an error if the frame is broken or does not fit. */
  decompressInto(target: Uint8Array, frame: Buffer): number;
}

let zstd: Zstd | undefined;

/** The system's library, or else the one that comes with ldm. */
export function openZstd(): Zstd {
  zstd ??= openSystemZstd() ?? openPackagedZstd();
  return zstd;
}

/**
 * Unfolds a frame that came from a file into `raw`, and gives that.
 * @throws CorruptDataError unless exactly that many bytes come out
 */
export function unfoldZstd(payload: Uint8Array, raw: Uint8Array): Uint8Array {
  const frame = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  assertOneFrame(frame);
  let lengthBytes: number;
  try {
    lengthBytes = openZstd().decompressInto(raw, frame);
  } catch (cause) {
    if (cause instanceof CorruptDataError) throw cause;
    throw new CorruptDataError('a block does not decompress', { cause });
  }
  assertLength(lengthBytes, raw.length);
  return raw;
}

export function assertLength(foundBytes: number, rawBytes: number): void {
  if (foundBytes !== rawBytes) {
    throw new CorruptDataError(`a block holds ${foundBytes} bytes, its header says ${rawBytes}`);
  }
}
