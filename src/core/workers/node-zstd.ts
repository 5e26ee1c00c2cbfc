import zlib from 'node:zlib';
import { assertOneFrame, windowLogOf } from './zstd-frame.ts';
import type { Zstd } from './zstd-frame.ts';

/** The functions that node:zlib has since Node 22.15. The installed type declarations are those of Node 20. */
interface ZstdOfNode {
  readonly zstdCompressSync: (bytes: Uint8Array, options: ZstdOptions & { readonly pledgedSrcSize: number }) => Buffer;
  readonly zstdDecompressSync: (
    bytes: Uint8Array,
    options: ZstdOptions & { readonly maxOutputLength: number },
  ) => Buffer;
  readonly constants: { readonly ZSTD_c_compressionLevel: number; readonly ZSTD_c_windowLog: number };
}

interface ZstdOptions {
  /** The length of each output buffer. */
  readonly chunkSize: number;
  readonly params?: Readonly<Record<number, number>>;
}

/** The shortest output buffer that Node accepts. */
const CHUNK_SIZE_MIN = 64;

/**
 * Opens the zstd built into Node since 22.15. Returns undefined in an older Node. Each call allocates its output. A
 * single large buffer avoids joining many short ones.
 */
export function openNodeZstd(): Zstd | undefined {
  if (!('zstdCompressSync' in zlib)) return undefined;
  const { zstdCompressSync, zstdDecompressSync, constants } = zlib as unknown as ZstdOfNode;
  let freeLastFrame = (): void => {};
  return {
    compress(raw, level) {
      freeLastFrame();
      // A little more than ZSTD_COMPRESSBOUND of zstd.h.
      const chunkSize = raw.length + Math.ceil(raw.length / 256) + 1024;
      const frame = zstdCompressSync(raw, {
        params: { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_windowLog]: windowLogOf(level) },
        // The frame then states its length, so that it can be decompressed without memory for a window.
        pledgedSrcSize: raw.length,
        chunkSize,
      });
      freeLastFrame = () => freeOutput(frame, chunkSize);
      return frame;
    },
    decompressInto(target, frame) {
      // Node 22 does not notice that a frame is truncated.
      assertOneFrame(frame);
      // One byte more, so that Node sees the end of the frame before it allocates a second buffer.
      const chunkSize = Math.max(CHUNK_SIZE_MIN, target.length + 1);
      const raw = zstdDecompressSync(frame, { chunkSize, maxOutputLength: Math.max(1, target.length) });
      target.set(raw);
      const lengthBytes = raw.length;
      freeOutput(raw, chunkSize);
      return lengthBytes;
    },
  };
}

/**
 * Frees the memory of an output that is no longer used. The garbage collector would let many of them accumulate: a
 * first backup on Node 24 peaked at 459 MB instead of 328 MB. A short output may be in a buffer that Node shares, and
 * is not freed.
 */
function freeOutput(output: Buffer, chunkSize: number): void {
  const memory = output.buffer as ArrayBuffer & { transfer(lengthBytes: number): ArrayBuffer };
  if (memory.byteLength === chunkSize) memory.transfer(0);
}
