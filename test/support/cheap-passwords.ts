import { vi } from 'vitest';

import type * as Argon2 from '../../src/core/crypto/argon2.ts';

/**
 * Runs before each test file. New keys of the operations that a test calls cost the least that their format allows, a
 * tenth of the usual, and a process derives each of them once, however often it opens it. Keys that the program makes in
 * a process of its own are as usual.
 */
vi.mock('../../src/core/crypto/argon2.ts', async (importOriginal) => {
  const original = await importOriginal<typeof Argon2>();
  const known = new Map<string, Promise<Buffer>>();
  return {
    ...original,
    newKdfParameters: (): Argon2.KdfParameters => ({ memoryKib: 8 * 1024, passes: 8, lanes: 1 }),
    async hashPassword(...given: Parameters<typeof Argon2.hashPassword>): Promise<Buffer> {
      const [password, salt, parameters] = given;
      const key = [
        Buffer.from(password).toString('hex'),
        Buffer.from(salt).toString('hex'),
        JSON.stringify(parameters),
      ];
      const hash = known.get(key.join(' ')) ?? original.hashPassword(...given);
      known.set(key.join(' '), hash);
      // The caller overwrites what it gets.
      return Buffer.from(await hash);
    },
  };
});
