import { createRequire } from 'node:module';
import type * as NodeZstd from '@toondepauw/node-zstd';
import { CorruptDataError } from '../errors.ts';
import { frameOutputBytesMax } from './zstd-frame.ts';
import type { Zstd } from './zstd-frame.ts';

/**
 * This decoder has no output limit. From level 16, the encoder may split each 128 KiB into this many blocks, and
 * according to its header each of them may contain 128 KiB.
 */
const SPLITS_MAX = 200;
const BLOCK_BYTES = 128 * 1024;

/**
 * Opens the package @toondepauw/node-zstd, which is installed with ldm for systems without a zstd library. It is
 * prebuilt for each platform and has no install script. Returns undefined if it cannot be loaded, for example after
 * `npm install --omit=optional`.
 */
export function openPackagedZstd(): Zstd | undefined {
  const loaded = loadPackage();
  if (loaded === undefined) return undefined;
  const { Decoder, Encoder } = loaded;
  const decoder = new Decoder();
  const encoders = new Map<number, NodeZstd.Encoder>();
  return {
    compress(raw, level) {
      const encoder = encoders.get(level) ?? new Encoder(level);
      encoders.set(level, encoder);
      return encoder.encodeSync(bufferOf(raw));
    },
    decompressInto(target, frame) {
      if (frameOutputBytesMax(frame) > target.length * SPLITS_MAX + BLOCK_BYTES) {
        throw new CorruptDataError(
          `a block would decompress to far more than the ${target.length} bytes in its header`,
        );
      }
      const raw = decoder.decodeSync(frame);
      if (raw.length > target.length) throw new Error('the frame is longer than expected');
      target.set(raw);
      return raw.length;
    },
  };
}

function loadPackage(): typeof NodeZstd | undefined {
  try {
    return createRequire(import.meta.url)('@toondepauw/node-zstd') as typeof NodeZstd;
  } catch {
    return undefined;
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
