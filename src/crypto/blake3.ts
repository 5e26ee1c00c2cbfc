import { createRequire } from 'node:module';
import type * as NativeBlake from '@napi-rs/blake-hash';
import type * as PortableBlake3 from 'blake3-jit';
import type { RunningDigest } from './pack-digest.ts';

/** Begins a BLAKE3 digest of 32 bytes (https://github.com/BLAKE3-team/BLAKE3-specs), without a key. */
export type Blake3 = () => RunningDigest;

let blake3: Blake3 | undefined;

/** The native code, or else what runs everywhere. */
export function openBlake3(): Blake3 {
  blake3 ??= openNativeBlake3() ?? openPortableBlake3();
  return blake3;
}

/** @napi-rs/blake-hash: prebuilt for each platform, no install script. Nothing where it cannot be loaded. */
export function openNativeBlake3(): Blake3 | undefined {
  try {
    const { Blake3Hasher } = createRequire(import.meta.url)('@napi-rs/blake-hash') as typeof NativeBlake;
    return () => {
      const hasher = new Blake3Hasher();
      return {
        // It takes texts and numbers, too, and of other views than a Buffer no bytes at all.
        update: (bytes) => void hasher.update(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
        end: () => hasher.digest('hex'),
      };
    };
  } catch {
    return undefined;
  }
}

/** blake3-jit: WebAssembly, about as fast as SHA-256 without instructions for it. */
export function openPortableBlake3(): Blake3 {
  const { Hasher } = createRequire(import.meta.url)('blake3-jit') as typeof PortableBlake3;
  return () => {
    const hasher = new Hasher();
    return {
      update: (bytes) => void hasher.update(bytes),
      end: () => Buffer.from(hasher.finalize()).toString('hex'),
    };
  };
}
