import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LocalBackend } from '../../src/backend/local-backend.ts';
import { RefusedError } from '../../src/errors.ts';
import { check } from '../../src/operations/check.ts';
import { compact } from '../../src/operations/compact.ts';
import { initRepository } from '../../src/operations/init.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

test.each(['letter.txt', 'tmp/letter.txt', 'filter/letter', 'reserve', 'snapshots/letter', 'keys/letter', '.hidden'])(
  'somebody who has %s there keeps it, and gets no repository',
  async (name) => {
    const directory = memoryDirectory();
    mkdirSync(join(directory, name, '..'), { recursive: true });
    writeFileSync(join(directory, name), 'precious');
    const before = readdirSync(directory, { recursive: true });
    await expect(initRepository({ backend: new LocalBackend(directory) })).rejects.toThrow(RefusedError);
    expect(readdirSync(directory, { recursive: true })).toEqual(before);
    expect(readFileSync(join(directory, name), 'utf8')).toBe('precious');
  },
);

test('what an interrupted init has left is no obstacle, and a plain repository needs no directory for keys', async () => {
  const directory = memoryDirectory();
  await initRepository({ backend: new LocalBackend(directory) });
  expect(readdirSync(directory)).not.toContain('keys');
  const interrupted = memoryDirectory();
  mkdirSync(join(interrupted, 'keys'));
  writeFileSync(join(interrupted, 'keys', 'ab'.repeat(32)), '{}');
  await initRepository({ backend: new LocalBackend(interrupted) });
});

test('an empty directory will do, and what comes to lie among the files of ldm is left alone', async () => {
  const directory = memoryDirectory();
  const backend = new LocalBackend(directory);
  await initRepository({ backend });
  const strangers = ['tmp/letter.txt', 'filter/.DS_Store', 'packs/letter', 'index/letter'];
  for (const name of strangers) writeFileSync(join(directory, name), 'precious');
  await compact({ backend });
  expect(await check({ backend }, { readData: true })).toMatchObject({ findings: [] });
  for (const name of strangers) expect(readFileSync(join(directory, name), 'utf8')).toBe('precious');
});
