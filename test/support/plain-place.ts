import type { Backend } from '../../src/core/backend/backend.ts';
import { PLAIN } from '../../src/core/crypto/seals.ts';
import type { FilePlace } from '../../src/core/store/pack-end.ts';

/** The place of a repository that is not encrypted. */
export function plainPlace(backend: Backend): FilePlace {
  return { backend, seals: PLAIN };
}
