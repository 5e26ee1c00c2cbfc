import { createRequire } from 'node:module';
import type * as NodeZstd from '@toondepauw/node-zstd';
import { CorruptDataError } from '../errors.ts';
import { frameOutputBytesMax } from './zstd-frame.ts';
import type { Zstd } from './zstd.ts';

/**
 * This decoder takes no limit. From level 16 on, the encoder may split each 128 KiB into as many blocks as this, of
 * which each could be 128 KiB by its header.
 */
const SPLITS_MAX = 200;
const BLOCK_BYTES = 128 * 1024;

/**
 * The zstd that is installed with ldm, for systems without a library of their own. @toondepauw/node-zstd: prebuilt for
 * each platform, no install script.
 */
export function openPackagedZstd(): Zstd {
  const { Decoder, Encoder } = createRequire(import.meta.url)('@toondepauw/node-zstd') as typeof NodeZstd;
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
        throw new CorruptDataError(`a block would unfold to far more than the ${target.length} bytes of its header`);
      }
      const raw = decoder.decodeSync(frame);
      if (raw.length > target.length) throw new Error('the frame holds more than fits');
      target.set(raw);
      return raw.length;
    },
  };
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
