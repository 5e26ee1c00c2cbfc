import { createRequire } from 'node:module';
import type * as NodeZstd from '@toondepauw/node-zstd';
import type { Zstd } from './zstd.ts';

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
      const raw = decoder.decodeSync(bufferOf(frame));
      if (raw.length > target.length) throw new Error('the frame holds more than fits');
      target.set(raw);
      return raw.length;
    },
  };
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
