import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { RefusedError } from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

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

test('a plain repository needs no directory for keys', async () => {
  const directory = memoryDirectory();
  await initRepository({ backend: new LocalBackend(directory) });
  expect(readdirSync(directory)).not.toContain('keys');
});

test('what an interrupted init has left is no obstacle, and goes', async () => {
  const directory = memoryDirectory();
  const backend = new LocalBackend(directory);
  const left = [`keys/${'ab'.repeat(32)}`, `tmp/${'cd'.repeat(16)}`, 'filter/000000000009-0badcafe', 'config.bak'];
  for (const name of left) {
    mkdirSync(join(directory, name, '..'), { recursive: true });
    writeFileSync(join(directory, name), '{}');
  }
  const source = join(memoryDirectory(), 'file');
  writeFileSync(source, 'content');
  await initRepository({ backend });
  await backup({ backend }, { sources: [source], cwd: '/' });
  await compact({ backend });
  expect(await check({ backend }, { readData: true })).toMatchObject({ findings: [] });
  for (const name of left.slice(0, 3)) expect(existsSync(join(directory, name)), name).toBe(false);
  expect(readFileSync(join(directory, 'config.bak'))).toEqual(readFileSync(join(directory, 'config')));
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
