import { isDeepStrictEqual } from 'node:util';
import type { ChunkerParameters } from '../chunking/chunker.ts';
import { LdmError, NoPasswordError, RepositoryNotFoundError, WrongPasswordError } from '../errors.ts';
import { NotEncryptedError } from '../session/unlock.ts';
import type { RepositoryConfig } from '../format/config.ts';

/** What a new repository takes from another one. */
export interface CopiedParameters {
  readonly chunker: ChunkerParameters;
  readonly chunkHash: RepositoryConfig['chunkHash'];
  readonly packHash: RepositoryConfig['packHash'];
  readonly filter: { readonly fpr: number; readonly hashes: number; readonly capacity: number };
  readonly compressionLevel: number;
  /** In hex. The key of the chunker is undefined in a plain repository. */
  readonly keys: { readonly idKey: string; readonly chunkerKey: string | undefined };
}

/** Returns the parameters of another repository. */
export function parametersOf({
  chunker,
  chunkHash,
  packHash,
  ldm,
  compression,
  ...config
}: RepositoryConfig): CopiedParameters {
  const { fprTarget: fpr, hashes, capacity } = ldm;
  const keys = { idKey: config.idKey, chunkerKey: config.encryption?.chunkerKey };
  return { chunker, chunkHash, packHash, filter: { fpr, hashes, capacity }, compressionLevel: compression.level, keys };
}

/** The user may not know which of the two repositories an error is about. */
export function aboutOther(error: unknown, place: string): unknown {
  if (error instanceof RepositoryNotFoundError) {
    return new RepositoryNotFoundError(error.message, { advice: { code: 'choose-origin' } });
  }
  if (!(error instanceof LdmError)) return error;
  const message = `the repository ${place}: ${error.message}`;
  const advice = { code: 'give-origin-password' } as const;
  if (error instanceof WrongPasswordError) return new WrongPasswordError(message, { advice });
  if (error instanceof NotEncryptedError) {
    return new NotEncryptedError(message, { advice: error.advice });
  }
  return error instanceof NoPasswordError ? new NoPasswordError(message, { advice }) : error;
}

/** Everybody can read the keys of a plain repository, so an encrypted one shares them only with another encrypted one. */
export function keysToShare(
  copied: CopiedParameters | undefined,
  isEncrypted: boolean,
): CopiedParameters['keys'] | undefined {
  return (copied?.keys.chunkerKey !== undefined) === isEncrypted ? copied?.keys : undefined;
}

/** Whether a repository with the same keys cuts files at the same places and gives chunks the same ids. */
export function haveSameChunks(copied: CopiedParameters, config: RepositoryConfig): boolean {
  return isDeepStrictEqual(copied.chunker, config.chunker) && copied.chunkHash === config.chunkHash;
}
