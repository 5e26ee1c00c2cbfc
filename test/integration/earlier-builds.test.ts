import { cpSync, lstatSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { LocalBackend } from '../../src/backend/local-backend.ts';
import { sha256 } from '../../src/crypto/sha256.ts';
import { backup } from '../../src/operations/backup.ts';
import { check } from '../../src/operations/check.ts';
import { compact } from '../../src/operations/compact.ts';
import type { OperationContext } from '../../src/operations/context.ts';
import { deleteSnapshots } from '../../src/operations/delete.ts';
import { repair } from '../../src/operations/repair.ts';
import { restore } from '../../src/operations/restore.ts';
import { listSnapshots } from '../../src/operations/snapshots.ts';
import { filesOfSnapshot, openStranger, readStoredFiles } from '../format/stranger-repository.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { testPassword } from '../support/test-password.ts';

const FIXTURES = new URL('../../fixtures/repositories/', import.meta.url).pathname;

/** That of the encrypted ones. */
const PASSWORD = 'correct horse battery staple';

/** SHA-256 of the files of the newest snapshot. */
const FILES = new Map([
  ['docs/note-1.md', '6d1663cfde8d2df8419d759f8f37a3e9ad62718e6df424a0ba08c860222808e6'],
  ['docs/note-3.md', '68deab2fba92ac922be311b71d1dcbbd387601e76712539274d64fe7a993595b'],
  ['photos/img-1.txt', 'd1f886742cf4fa6d369dc55952352956675b23c522fb066f435cebfbc75ed079'],
  ['photos/img-2.txt', 'c25aa8530aec75f7d72e4ddc3909124c6403f5eb91756f47610da7aed9558b3c'],
  ['photos/img-3.txt', '1206e43dd3c37b09cd299690afb8c589282addc357e7e00ed78f0a89713f1b22'],
  ['photos/link', '6d1663cfde8d2df8419d759f8f37a3e9ad62718e6df424a0ba08c860222808e6'],
]);

/** A copy of a repository as git gives it: without empty directories. */
function copyOf(name: string): OperationContext {
  const directory = join(memoryDirectory(), 'repository');
  cpSync(join(FIXTURES, name), directory, { recursive: true });
  for (const path of readdirSync(directory).map((inner) => join(directory, inner))) {
    if (lstatSync(path).isDirectory() && readdirSync(path).length === 0) rmdirSync(path);
  }
  return { backend: new LocalBackend(directory), password: testPassword(PASSWORD) };
}

async function expectFiles(context: OperationContext, selector: string): Promise<string> {
  const target = memoryDirectory();
  expect((await restore(context, { selector, target })).problems).toEqual([]);
  expect(readFileSync(join(target, 'docs/note-2.md'), 'utf8')).toMatch(/^note 2\n(more\n)+$/);
  for (const [path, digest] of FILES) expect(sha256(readFileSync(join(target, path))), path).toBe(digest);
  return target;
}

async function expectClean(context: OperationContext): Promise<void> {
  expect((await check(context, { readData: true })).findings).toEqual([]);
}

describe.each(readdirSync(FIXTURES).filter((name) => name.startsWith('v')))(
  'a repository of an earlier build: %s',
  (name) => {
    test('is checked, listed and restored', async () => {
      const context = copyOf(name);
      await expectClean(context);
      expect(await listSnapshots(context)).toHaveLength(2);
      await expectFiles(context, 'latest');
    });

    test('is extended without storing anything twice, then thinned out and compacted', async () => {
      const context = copyOf(name);
      const target = await expectFiles(context, 'latest');
      const sources = ['docs', 'photos'].map((root) => join(target, root));
      const { summary } = await backup(context, { sources, cwd: '/' });
      expect(summary.dataBlobs).toBe(0);
      writeFileSync(join(target, 'docs', 'new.md'), 'new\n');
      expect((await backup(context, { sources, cwd: '/' })).summary.dataBlobs).toBe(1);
      await expectClean(context);
      const oldest = (await listSnapshots(context)).slice(0, 2).map(({ id }) => id);
      await deleteSnapshots(context, { selectors: oldest });
      await compact(context, { maxUnusedPercent: 0 });
      await expectClean(context);
      await expectFiles(context, 'latest');
    });

    test('is repaired', async () => {
      const context = copyOf(name);
      for (const { name: segment } of await context.backend.list('index')) await context.backend.remove(segment);
      expect((await repair(context)).remaining).toEqual([]);
      await expectClean(context);
      await expectFiles(context, 'latest');
    });
  },
);

test.each([PASSWORD, 'second password'])('an encrypted one opens by each of its passwords: %s', async (password) => {
  const context = { ...copyOf('v1-encrypted'), password: testPassword(password) };
  await expectFiles(context, 'latest');
  const opened = await openStranger(readStoredFiles(join(FIXTURES, 'v1-encrypted')), password);
  const newest = (await listSnapshots(context)).at(-1)!;
  const files = filesOfSnapshot(opened, newest.id);
  for (const [path, digest] of FILES) {
    const { content } = files.get(path)!;
    if (content !== undefined) expect(sha256(content), path).toBe(digest);
  }
});
