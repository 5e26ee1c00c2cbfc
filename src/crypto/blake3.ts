import { createRequire } from 'node:module';
import type * as NativeBlake from '@napi-rs/blake-hash';
import type * as PortableBlake3 from 'blake3-jit';
import { InstallationError } from '../errors.ts';
import type { RunningDigest } from './pack-digest.ts';

/** Begins a BLAKE3 digest of 32 bytes (https://github.com/BLAKE3-team/BLAKE3-specs), without a key. */
export type Blake3 = () => RunningDigest;

/** Of 31,744 bytes that count from 0 to 250 again and again, by the authors' `b3sum`. */
const PROOF_DIGEST = '62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47';

let blake3: Blake3 | undefined;

/**
 * The native code, or else what runs everywhere.
 * @throws InstallationError if the installation has neither
 */
export function openBlake3(): Blake3 {
  blake3 ??= openNativeBlake3() ?? openPortableBlake3();
  return blake3;
}

/**
 * @napi-rs/blake-hash: prebuilt for each platform, no install script. Nothing where it cannot be loaded, or gives a wrong
 * digest: the names of a whole backup would be wrong, and nobody would know before a check reads everything.
 */
export function openNativeBlake3(): Blake3 | undefined {
  try {
    const { Blake3Hasher } = createRequire(import.meta.url)('@napi-rs/blake-hash') as typeof NativeBlake;
    const native: Blake3 = () => {
      const hasher = new Blake3Hasher();
      return {
        // It would take texts and numbers, too.
        update: (bytes) => void hasher.update(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
        end: () => hasher.digest('hex'),
      };
    };
    return provesItself(native) ? native : undefined;
  } catch {
    return undefined;
  }
}

/** With as many bytes as the widest vector instructions need. */
function provesItself(candidate: Blake3): boolean {
  const digest = candidate();
  digest.update(Uint8Array.from({ length: 31_744 }, (_, index) => index % 251));
  return digest.end() === PROOF_DIGEST;
}

/** blake3-jit: JavaScript, at about half the speed of SHA-256 without instructions for it (0.2 GiB/s). */
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
