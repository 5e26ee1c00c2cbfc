import type { Backend } from '../../src/backend/backend.ts';
import { PLAIN } from '../../src/crypto/seals.ts';
import type { FilePlace } from '../../src/store/pack-end.ts';

/** The place of a repository that is not encrypted. */
export function plainPlace(backend: Backend): FilePlace {
  return { backend, seals: PLAIN };
}
