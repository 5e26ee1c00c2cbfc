import { createRequire } from 'node:module';
import type * as NativeBlake from '@napi-rs/blake-hash';
import type * as PortableBlake3 from 'blake3-jit';
import { InstallationError } from '../errors.ts';

/** Starts an unkeyed BLAKE3 digest of 32 bytes (https://github.com/BLAKE3-team/BLAKE3-specs). */
export type Blake3 = () => RunningDigest;

/** Digest of 31,744 bytes that repeatedly count from 0 to 250, computed with `b3sum` by the authors of BLAKE3. */
const PROOF_DIGEST = '62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47';

let blake3: Blake3 | undefined;

/**
 * Returns the native implementation, or the portable one as a fallback.
 * @throws InstallationError if neither can be loaded
 */
export function openBlake3(): Blake3 {
  blake3 ??= openNativeBlake3() ?? openPortableBlake3();
  return blake3;
}

/**
 * @napi-rs/blake-hash: prebuilt for each platform, without an install script. Returns undefined if it cannot be loaded
 * or gives a wrong digest. Otherwise all packs of a backup would get wrong names, and only a check that reads all data
 * would notice.
 */
export function openNativeBlake3(): Blake3 | undefined {
  try {
    const { Blake3Hasher } = createRequire(import.meta.url)('@napi-rs/blake-hash') as typeof NativeBlake;
    const native: Blake3 = () => {
      const hasher = new Blake3Hasher();
      return {
        // Convert to a Buffer, because the native function also accepts strings and numbers.
        update: (bytes) => void hasher.update(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
        end: () => hasher.digest('hex'),
      };
    };
    return provesItself(native) ? native : undefined;
  } catch {
    return undefined;
  }
}

/** Uses enough bytes for the widest vector instructions. */
function provesItself(candidate: Blake3): boolean {
  const digest = candidate();
  digest.update(Uint8Array.from({ length: 31_744 }, (_, index) => index % 251));
  return digest.end() === PROOF_DIGEST;
}

/** blake3-jit: JavaScript, about half as fast as SHA-256 without hardware support (0.2 GiB/s). */
export function openPortableBlake3(): Blake3 {
  const { Hasher } = loadPortable();
  return () => {
    const hasher = new Hasher();
    return {
      update: (bytes) => void hasher.update(bytes),
      end: () => Buffer.from(hasher.finalize()).toString('hex'),
    };
  };
}

function loadPortable(): typeof PortableBlake3 {
  try {
    return createRequire(import.meta.url)('blake3-jit') as typeof PortableBlake3;
  } catch (cause) {
    throw new InstallationError('BLAKE3, which names the packs of this repository, cannot be loaded', {
      hint: 'Install ldm again: its packages @napi-rs/blake-hash and blake3-jit are missing or broken.',
      cause,
    });
  }
}

/** A digest of data that arrives in pieces. */
export interface RunningDigest {
  update(bytes: Uint8Array): void;
  /** Returns the hex digest; `update` must not be called afterwards. */
  end(): string;
}
