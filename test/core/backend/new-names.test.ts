import { expect, test } from 'vitest';
import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

test.each([
  ['a directory', () => new LocalBackend(memoryDirectory())],
  ['memory', () => new MemoryBackend()],
])('a new name in %s is given once, and the file that has it stays', async (_, makeBackend) => {
  const backend = makeBackend();
  await backend.prepare(['tmp', 'packs']);
  const give = async (text: string): Promise<void> => {
    const file = await backend.stage();
    await file.append(Buffer.from(text));
    await file.publish('packs/a', undefined, true);
  };
  await give('first');
  await expect(give('second')).rejects.toMatchObject({ kind: 'exists', errno: 'EEXIST' });
  expect(Buffer.from(await backend.read('packs/a')).toString()).toBe('first');
  expect((await backend.list('')).map(({ name }) => name)).toEqual(['packs/a']);
});
