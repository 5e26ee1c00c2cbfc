import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, linkSync, lstatSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { mendFile } from '../../src/files/mend-file.ts';
import { createTargetPolicy } from '../../src/files/target-policy.ts';
import type { ByteString } from '../../src/util/byte-string.ts';
import { temporaryDirectory } from '../support/temp-directory.ts';
import { makeTestRepository, TINY_CHUNKS } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';

const isRoot = process.geteuid?.() === 0;

/** A snapshot that is restored already, and a file of it whose mode somebody changed since then. */
async function makeScene(): Promise<{ repository: TestRepository; target: string; file: string }> {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  for (const name of ['file', 'linked', 'sound']) writeFileSync(join(repository.source, name), name);
  linkSync(join(repository.source, 'linked'), join(repository.source, 'other'));
  chmodSync(join(repository.source, 'file'), 0o640);
  chmodSync(join(repository.source, 'linked'), 0o644);
  await repository.backup();
  const target = join(repository.directory, 'target');
  await repository.restore({ target });
  const file = join(target, 'source', 'file');
  chmodSync(file, 0o604);
  return { repository, target, file };
}

describe('a file that has its content, but not its mode or owner', () => {
  it('gets them with --overwrite if-changed, and stays the file that it was', async () => {
    const { repository, target, file } = await makeScene();
    const other = join(target, 'source', 'other');
    chmodSync(other, 0o600);
    if (isRoot) chownSync(file, 12, 34);
    const before = lstatSync(file);
    const result = await repository.restore({ target, overwrite: 'if-changed' });
    expect(result.problems).toEqual([]);
    // The other name of the linked file is mended with the first.
    expect(result).toMatchObject({ filesMended: 2, filesUnchanged: 2, filesRestored: 0, filesKept: 0 });
    const after = lstatSync(file);
    expect([after.mode & 0o7777, after.uid, after.gid]).toEqual([0o640, process.geteuid!(), process.getegid!()]);
    expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
    expect(lstatSync(other).mode & 0o777).toBe(0o644);
    expect(lstatSync(other).nlink).toBe(2);
  });

  it.each(['never', 'if-newer'] as const)('stays as it is with --overwrite %s', async (overwrite) => {
    const { repository, target, file } = await makeScene();
    expect(await repository.restore({ target, overwrite })).toMatchObject({ filesMended: 0, filesUnchanged: 4 });
    expect(lstatSync(file).mode & 0o777).toBe(0o604);
  });

  it('is counted by a dry run, and left alone', async () => {
    const { repository, target, file } = await makeScene();
    const result = await repository.restore({ target, overwrite: 'if-changed', dryRun: true });
    expect(result).toMatchObject({ filesMended: 1, filesUnchanged: 3 });
    expect(lstatSync(file).mode & 0o777).toBe(0o604);
  });
});

describe('what took the name of a file that is to be mended', () => {
  const policy = createTargetPolicy();
  const owner = { uid: process.geteuid!(), gid: process.getegid!(), user: '' as ByteString, group: '' as ByteString };
  const entry = { ...owner, type: 'file', mode: 0o640, sizeBytes: 4, mtimeSeconds: 5, mtimeNanoseconds: 0 } as const;

  /** The file itself, which must not be touched in the place of another. */
  function makeFile(): { path: string; modeOf: () => number } {
    const path = join(temporaryDirectory(), 'file');
    writeFileSync(path, 'four');
    chmodSync(path, 0o600);
    utimesSync(path, 5, 5);
    return { path, modeOf: () => lstatSync(path).mode & 0o777 };
  }

  it('is not followed if it is a symlink', () => {
    const { path, modeOf } = makeFile();
    symlinkSync(path, `${path}.link`);
    expect(mendFile(`${path}.link` as ByteString, entry, policy)?.errno).toBe('ELOOP');
    expect(modeOf()).toBe(0o600);
    expect(mendFile(path as ByteString, entry, policy)).toBeUndefined();
    expect(modeOf()).toBe(0o640);
  });

  it('is left alone if it is of another size or time, or no file', () => {
    const { path, modeOf } = makeFile();
    const fifo = `${path}.fifo`;
    spawnSync('mkfifo', ['-m', '600', fifo]);
    for (const [name, other] of [
      [path, { ...entry, sizeBytes: 5 }],
      [path, { ...entry, mtimeNanoseconds: 1 }],
      [fifo, { ...entry, sizeBytes: 0 }],
    ] as const) {
      expect(mendFile(name as ByteString, other, policy)?.message).toContain('another file took its name');
    }
    expect(modeOf()).toBe(0o600);
    expect(lstatSync(fifo).mode & 0o777).toBe(0o600);
  });
});
