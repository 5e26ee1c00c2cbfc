import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { diffSnapshots } from '../../../src/verbs/diff/diff.ts';
import type { DiffOptions } from '../../../src/verbs/diff/diff.ts';
import { beforeReads } from '../../support/file-calls.ts';
import { systemError } from '../../support/system-error.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

async function diff({ context, source }: TestRepository, options: Partial<DiffOptions> = {}): Promise<string[]> {
  const { changes } = await diffSnapshots(context, { before: 'latest', ...options });
  return changes.map(({ modifier, path, sourcePath }) =>
    [modifier, sourcePath, path].join(' ').replaceAll(`${source}/`, ''),
  );
}

const LAST_TWO = { before: 'latest~1', after: 'latest' };

describe('what was moved', () => {
  it('is not what is empty and looks the same', async () => {
    const repository = await makeTestRepository();
    const { source } = repository;
    mkdirSync(join(source, 'directory'));
    writeFileSync(join(source, 'file'), '');
    await repository.backup();
    for (const name of ['directory', 'file']) rmSync(join(source, name), { recursive: true });
    mkdirSync(join(source, 'other-directory'));
    writeFileSync(join(source, 'other-file'), '');
    const expected = ['-  directory', '-  file', '+  other-directory', '+  other-file'];
    expect(await diff(repository)).toEqual(expected);
    await repository.backup();
    expect(await diff(repository, LAST_TWO)).toEqual(expected);
  });

  it('has one place where it was, and one where it is', async () => {
    const repository = await makeTestRepository();
    const { source } = repository;
    writeFileSync(join(source, 'file'), 'content');
    await repository.backup();
    renameSync(join(source, 'file'), join(source, 'one'));
    writeFileSync(join(source, 'two'), 'content');
    expect(await diff(repository)).toEqual(['R file one', '+  two']);
    await repository.backup();
    expect(await diff(repository, LAST_TWO)).toEqual(['R file one', '+  two']);
  });
});

describe('a comparison with files on this machine', () => {
  it('does not count a file as changed, or as moved, that it cannot read', async () => {
    const repository = await makeTestRepository();
    const { source } = repository;
    for (const name of ['file', 'moved']) writeFileSync(join(source, name), name.padEnd(10));
    await repository.backup();
    utimesSync(join(source, 'file'), 1000, 1000);
    renameSync(join(source, 'moved'), join(source, 'renamed'));
    expect(await diff(repository)).toEqual(['R moved renamed']);
    beforeReads(source, () => {
      throw systemError('EIO');
    });
    const result = await diffSnapshots(repository.context, { before: 'latest' });
    expect(result.changes.map(({ modifier, path }) => [modifier, path])).toEqual([
      ['-', join(source, 'moved')],
      ['+', join(source, 'renamed')],
    ]);
    expect(result.unreadableSources).toBe(2);
  });

  it('reads a file of the same size that was changed within the same second', async () => {
    const repository = await makeTestRepository();
    const file = join(repository.source, 'file');
    writeFileSync(file, 'one');
    utimesSync(file, 1000.25, 1000.25);
    await repository.backup();
    writeFileSync(file, 'two');
    utimesSync(file, 1000.5, 1000.5);
    expect(await diff(repository)).toEqual(['M  file']);
  });

  it('leaves out the repository itself', async () => {
    const repository = await makeTestRepository();
    writeFileSync(join(repository.source, 'file'), 'x');
    await repository.backup({ sources: [repository.directory] });
    expect(await diff(repository)).toEqual([]);
    expect(await diff(repository, { after: repository.directory })).toEqual([]);
  });
});
