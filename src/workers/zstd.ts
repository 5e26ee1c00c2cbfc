import { CorruptDataError } from '../errors.ts';
import { openPackagedZstd } from './packaged-zstd.ts';
import { openSystemZstd } from './system-zstd.ts';
import { frameOutputBytesMax } from './zstd-frame.ts';

/** Zstandard (RFC 8878) in one go, on the calling thread. */
export interface Zstd {
  /** One frame of `raw`; its bytes are valid until the next call. `level`: from -7 to 22. */
  compress(raw: Uint8Array, level: number): Uint8Array;
  /** Unfolds a frame into `target` and tells the length; an error if the frame is broken or does not fit. */
  decompressInto(target: Uint8Array, frame: Uint8Array): number;
}

const OUTPUT_SLACK = 8;
const OUTPUT_SLACK_BYTES = 1024 * 1024;

let zstd: Zstd | undefined;

/** The system's library, or else the one that comes with ldm. */
export function openZstd(): Zstd {
  zstd ??= openSystemZstd() ?? openPackagedZstd();
  return zstd;
}

/**
 * Unfolds a frame that came from a file, into `target` if that is given.
 * @throws CorruptDataError unless exactly `rawBytes` come out
 */
export function unfoldZstd(payload: Uint8Array, rawBytes: number, target?: Uint8Array): Uint8Array {
  const frame = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  // An honest encoder may cut small blocks, so the bound is loose: it stops bombs, and the length check does the rest.
  if (frameOutputBytesMax(frame) > rawBytes * OUTPUT_SLACK + OUTPUT_SLACK_BYTES) {
    throw new CorruptDataError(`a block would unfold to far more than the ${rawBytes} bytes that its header says`);
  }
  const raw = target ?? Buffer.allocUnsafeSlow(rawBytes);
  let lengthBytes: number;
  try {
    lengthBytes = openZstd().decompressInto(raw, frame);
  } catch (cause) {
    throw new CorruptDataError('a block does not decompress', { cause });
  }
  assertLength(lengthBytes, rawBytes);
  return raw;
}

export function assertLength(foundBytes: number, rawBytes: number): void {
  if (foundBytes !== rawBytes) {
    throw new CorruptDataError(`a block holds ${foundBytes} bytes, its header says ${rawBytes}`);
  }
}
