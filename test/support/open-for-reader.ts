import { constants, openSync } from 'node:fs';
import { expect } from 'vitest';
import { waitUntil } from './wait-until.ts';

/** Opens a pipe as a writer, which is possible once it has a reader. */
export async function openForReader(pipe: string): Promise<number> {
  let descriptor: number | undefined;
  await waitUntil(() => {
    try {
      descriptor ??= openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENXIO' });
    }
    return descriptor !== undefined;
  }, 'a reader');
  return descriptor!;
}
