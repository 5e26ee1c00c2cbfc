import { vi } from 'vitest';

import type * as Argon2 from '../../src/crypto/argon2.ts';

/**
 * Runs before each test file. New keys of the operations that a test calls cost the least that their format allows, a
 * tenth of the usual. Keys that the program makes in a process of its own are as usual.
 */
vi.mock('../../src/crypto/argon2.ts', async (importOriginal) => ({
  ...(await importOriginal<typeof Argon2>()),
  newKdfParameters: (): Argon2.KdfParameters => ({ memoryKib: 8 * 1024, passes: 8, lanes: 1 }),
}));
