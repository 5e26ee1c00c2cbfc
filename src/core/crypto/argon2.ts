import { createRequire } from 'node:module';
import { totalmem } from 'node:os';
import type * as NativeArgon2 from '@node-rs/argon2';
import { InstallationError } from '../errors.ts';

/** Parameters of Argon2id (RFC 9106). The format of key files says which are accepted. */
export interface KdfParameters {
  readonly memoryKib: number;
  /** Passes over the memory. */
  readonly passes: number;
  readonly lanes: number;
}

/** Computes Argon2id, version 1.3, without a secret and associated data: 32 bytes. */
export type Argon2 = (password: Uint8Array, salt: Uint8Array, parameters: KdfParameters) => Promise<Uint8Array>;

const PASSWORD_HASH_BYTES = 32;

/** The second recommendation of RFC 9106: 64 MiB, 3 passes, 4 lanes. Takes a quarter of a second. */
const USUAL: KdfParameters = { memoryKib: 64 * 1024, passes: 3, lanes: 4 };
/**
 * For a machine where 64 MiB could be too much beside the rest of a backup. A quarter of the memory and four times the
 * passes: a guess takes about as long as with the usual parameters, but more guesses fit in the memory of an attacker.
 */
const SMALL: KdfParameters = { memoryKib: 16 * 1024, passes: 12, lanes: 4 };
const SMALL_MACHINE_BYTES = 1024 * 1024 * 1024;

/** By the reference implementation of Argon2 (`argon2id`, version 0x13) of "password" and "somesalt". */
const PROOF_PARAMETERS: KdfParameters = { memoryKib: 256, passes: 2, lanes: 1 };
const PROOF = '9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe';

let argon2: Promise<Argon2> | undefined;

/**
 * Hashes a password to 32 bytes with the native implementation, or with WebAssembly as a fallback. Both give the same
 * bytes. Loaded by the first call, since few commands need it.
 * @throws InstallationError if neither can be loaded
 */
export async function hashPassword(password: Uint8Array, salt: Uint8Array, parameters: KdfParameters): Promise<Buffer> {
  argon2 ??= openNativeArgon2().then((native) => native ?? openPortableArgon2());
  const hash = await (await argon2)(password, salt, parameters);
  return Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength);
}

/**
 * @node-rs/argon2: prebuilt for each platform, without an install script. Returns undefined if it cannot be loaded or
 * gives a wrong hash, which would seal a master key so that no other machine could open it.
 */
export async function openNativeArgon2(): Promise<Argon2 | undefined> {
  try {
    const { hashRaw } = createRequire(import.meta.url)('@node-rs/argon2') as typeof NativeArgon2;
    const native: Argon2 = async (password, salt, { memoryKib, passes, lanes }) =>
      hashRaw(password, {
        // Argon2id version 1.3 is the default. The constants for it exist only as types.
        salt,
        memoryCost: memoryKib,
        timeCost: passes,
        parallelism: lanes,
        outputLen: PASSWORD_HASH_BYTES,
      });
    const proof = await native(Buffer.from('password'), Buffer.from('somesalt'), PROOF_PARAMETERS);
    return Buffer.from(proof).toString('hex') === PROOF ? native : undefined;
  } catch {
    return undefined;
  }
}

/** hash-wasm: WebAssembly, 1.5 times as slow. The build bundles the part that is needed. */
export async function openPortableArgon2(): Promise<Argon2> {
  try {
    const { argon2id } = await import('hash-wasm');
    return async (password, salt, { memoryKib, passes, lanes }) =>
      argon2id({
        password,
        salt,
        memorySize: memoryKib,
        iterations: passes,
        parallelism: lanes,
        hashLength: PASSWORD_HASH_BYTES,
        outputType: 'binary',
      });
  } catch (cause) {
    throw new InstallationError('Argon2, which protects the passwords of encrypted repositories, cannot be loaded', {
      hint: 'Install ldm again.',
      cause,
    });
  }
}

/** Returns the parameters for new keys. `memoryBytes`: the memory of this machine, or of its container. */
export function newKdfParameters(memoryBytes: number = availableMemory()): KdfParameters {
  return memoryBytes < SMALL_MACHINE_BYTES ? SMALL : USUAL;
}

function availableMemory(): number {
  // 0 or undefined if unknown, and more than there is if there is no limit.
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
