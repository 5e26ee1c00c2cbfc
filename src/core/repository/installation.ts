import { openNativeArgon2 } from '../crypto/argon2.ts';
import { openNativeBlake3 } from '../crypto/blake3.ts';
import { zstdInUse } from '../workers/zstd.ts';
import type { ZstdName } from '../workers/zstd.ts';

/** The parts of this installation for which there are several implementations. */
export interface Installation {
  /** Undefined if there is none, so that no repository can be used. */
  readonly zstd: ZstdName | undefined;
  readonly isBlake3Native: boolean;
  readonly isArgon2Native: boolean;
}

/** Finds out what commands would use. Loads all of it. */
export async function inspectInstallation(): Promise<Installation> {
  return {
    zstd: zstdInUse(),
    isBlake3Native: openNativeBlake3() !== undefined,
    isArgon2Native: (await openNativeArgon2()) !== undefined,
  };
}
