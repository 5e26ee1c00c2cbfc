import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { SourceError } from '../../src/core/errors.ts';
import type { TreeEntry } from '../../src/core/format/tree/tree.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import type { BackupResult } from '../../src/core/saving/backup-result.ts';
import { createProgress } from '../../src/core/session/progress.ts';
import { listFiles } from '../../src/verbs/ls/ls.ts';
import { openFilesOf } from '../support/open-files.ts';
import { createPrng } from '../support/prng.ts';
import { createSignalHook } from '../support/signal-hook.ts';
import { makeTestRepository, TINY_CHUNKS } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';
import { giveToNobody, withoutPrivileges } from '../support/unprivileged.ts';

/** A repository whose source has the files a, b and c. */
async function makeThreeFiles(): Promise<TestRepository> {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  for (const [index, name] of ['a', 'b', 'c'].entries()) {
    writeFileSync(join(repository.source, name), createPrng(index).bytes(20_000));
  }
  return repository;
}

async function entriesOf(repository: TestRepository): Promise<Map<string, TreeEntry>> {
  const entries = new Map<string, TreeEntry>();
  await listFiles(repository.context, { selector: 'latest:source', recursive: true }, ({ path, entry }) => {
    entries.set(path.slice('source/'.length), entry);
  });
  return entries;
}

async function backupWithHook({ context, source, directory }: TestRepository, hook: () => void): Promise<BackupResult> {
  return await backup({ ...context, signal: createSignalHook(hook) }, { sources: [source], cwd: directory });
}

describe('a source that cannot be read', () => {
  it('is named and left out, and what is beside it is saved', async () => {
    const repository = await makeThreeFiles();
    const { source, directory } = repository;
    mkdirSync(join(source, 'closed'));
    writeFileSync(join(source, 'closed', 'inner'), 'x');
    mkdirSync(join(source, 'listed-only'));
    writeFileSync(join(source, 'listed-only', 'inner'), 'x');
    giveToNobody(directory);
    chmodSync(join(source, 'b'), 0);
    chmodSync(join(source, 'closed'), 0);
    chmodSync(join(source, 'listed-only'), 0o400);
    const { problems, snapshotId, summary } = await withoutPrivileges(async () => repository.backup());
    const seen = problems.map(({ path, during }) => [path.slice(source.length + 1), during]);
    // What cannot be listed is found before what cannot be read, since the walk runs ahead of the reading.
    expect(seen.toSorted(([a], [b]) => (a! < b! ? -1 : 1))).toEqual([
      ['b', 'read'],
      ['closed', 'list'],
      ['listed-only/inner', 'stat'],
    ]);
    expect(problems.every(({ message }) => message.includes('permission'))).toBe(true);
    expect(snapshotId).toBeDefined();
    expect(summary.errorCount).toBe(3);
    expect([...(await entriesOf(repository)).keys()]).toEqual(['a', 'c', 'closed', 'listed-only']);
    chmodSync(join(source, 'closed'), 0o700);
    await repository.expectClean();
  });

  it('is saved by the next backup that can read it', async () => {
    const repository = await makeThreeFiles();
    giveToNobody(repository.directory);
    chmodSync(join(repository.source, 'b'), 0);
    await withoutPrivileges(async () => repository.backup());
    chmodSync(join(repository.source, 'b'), 0o600);
    const { problems, summary } = await withoutPrivileges(async () => repository.backup());
    expect(problems).toEqual([]);
    expect(summary.filesNew).toBe(1);
    await repository.expectRestored();
  });

  it('is named when it is missing, and only an error when nothing is there', async () => {
    const repository = await makeThreeFiles();
    const { problems } = await repository.backup({ sources: ['source', 'absent', 'nothing/*.here'] });
    expect(problems.map(({ path, during }) => [path, during])).toEqual([
      ['absent', 'missing'],
      ['nothing/*.here', 'missing'],
    ]);
    await repository.expectRestored();
    const nothing = repository.backup({ sources: ['absent', 'nothing/*.here'] });
    await expect(nothing).rejects.toThrow(SourceError);
    await expect(nothing).rejects.toMatchObject({ code: 'SOURCE', message: expect.stringContaining('absent') });
  });
});

describe('a file that changes while it is read', () => {
  it.each<[string, (path: string) => void]>([
    ['grows', (path) => appendFileSync(path, 'more')],
    ['shrinks', (path) => truncateSync(path, 100)],
    ['is written in place', (path) => writeFileSync(path, 'new', { flag: 'r+' })],
    ['is emptied', (path) => truncateSync(path, 0)],
  ])('once and %s, is read again and saved as it is then', async (_, change) => {
    const repository = await makeThreeFiles();
    const path = join(repository.source, 'b');
    let isDone = false;
    const { problems } = await backupWithHook(repository, () => {
      if (isDone || !openFilesOf(process.pid).includes(path)) return;
      isDone = true;
      change(path);
    });
    expect(isDone).toBe(true);
    expect(problems).toEqual([]);
    expect((await entriesOf(repository)).get('b')).toMatchObject({ changedWhileRead: false });
    await repository.expectRestored();
  });

  it('all the time is kept and reported, and read again by the next backup', async () => {
    const repository = await makeThreeFiles();
    const path = join(repository.source, 'b');
    const { problems, snapshotId } = await backupWithHook(repository, () => appendFileSync(path, 'more'));
    expect(problems.map((problem) => [problem.path, problem.during])).toEqual([[path, 'changed']]);
    expect(snapshotId).toBeDefined();
    expect((await entriesOf(repository)).get('b')).toMatchObject({ changedWhileRead: true });
    const restored = await repository.restore();
    expect(restored.problems.map(({ code }) => code)).toEqual(['CHANGED']);
    const copy = readFileSync(join(restored.target, 'source', 'b'));
    expect(copy.equals(readFileSync(path).subarray(0, copy.length))).toBe(true);
    expect((await repository.backup()).problems).toEqual([]);
    expect((await entriesOf(repository)).get('b')).toMatchObject({ changedWhileRead: false });
    await repository.expectRestored();
    await repository.expectClean();
  });
});

it('a file that changes between its two names is saved with both contents', async () => {
  const repository = await makeThreeFiles();
  const { source } = repository;
  const [first, last] = [join(source, 'a'), join(source, 'z')];
  linkSync(first, last);
  // More names than the walk is ahead of the reading, so that the last is listed after the first is stored.
  for (let index = 0; index < 1500; index += 1) writeFileSync(join(source, `m${index}`), '');
  const [before, after] = [readFileSync(first), createPrng(7).bytes(20_000)];
  const progress = createProgress();
  let isDone = false;
  const signal = createSignalHook(() => {
    if (isDone || progress.filesDone < 1) return;
    isDone = true;
    writeFileSync(last, after, { flag: 'r+' });
  });
  const context = { ...repository.context, signal, progress };
  await backup(context, { sources: [source], cwd: repository.directory });
  const { target } = await repository.restore();
  expect(readFileSync(join(target, 'source', 'a')).equals(before)).toBe(true);
  expect(readFileSync(join(target, 'source', 'z')).equals(after)).toBe(true);
});

describe('a name that changes after its directory was listed', () => {
  it.each<[string, (path: string) => void]>([
    ['because the file is gone', (path) => rmSync(path)],
    ['because it moved elsewhere', (path) => renameSync(path, `${path}-moved`)],
  ])('%s is no problem', async (_, change) => {
    // The directory is listed at the second call, and the file is read after the twentieth.
    for (const when of [3, 10, 19]) {
      const repository = await makeThreeFiles();
      let callCount = 0;
      const { problems } = await backupWithHook(repository, () => {
        callCount += 1;
        if (callCount === when) change(join(repository.source, 'b'));
      });
      expect(problems).toEqual([]);
      expect([...(await entriesOf(repository)).keys()], `call ${when}`).toEqual(['a', 'c']);
      expect(callCount).toBeGreaterThan(19);
    }
  });

  it('to a symlink is saved as the link, and not followed', async () => {
    const repository = await makeThreeFiles();
    let isDone = false;
    const { problems } = await backupWithHook(repository, () => {
      if (isDone) return;
      isDone = true;
      rmSync(join(repository.source, 'b'));
      symlinkSync('/etc/passwd', join(repository.source, 'b'));
    });
    expect(problems).toEqual([]);
    expect((await entriesOf(repository)).get('b')).toMatchObject({ type: 'symlink', linkTarget: '/etc/passwd' });
    const { target } = await repository.restore();
    expect(readlinkSync(join(target, 'source', 'b'))).toBe('/etc/passwd');
  });
});
