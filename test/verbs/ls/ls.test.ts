import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { SnapshotNotFoundError } from '../../../src/core/errors.ts';
import { listFiles } from '../../../src/verbs/ls/ls.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

async function makeSaved(): Promise<TestRepository> {
  const repository = await makeTestRepository();
  mkdirSync(join(repository.source, 'b', 'c'), { recursive: true });
  for (const name of ['a', 'b-', 'b/x', 'b/c/y']) writeFileSync(join(repository.source, name), name);
  writeFileSync(Buffer.concat([Buffer.from(`${repository.source}/`), Buffer.of(0xff)]), 'x');
  symlinkSync('a', join(repository.source, 'link'));
  await repository.backup();
  return repository;
}

async function list({ context }: TestRepository, selector: string, recursive = true): Promise<string[]> {
  const lines: string[] = [];
  await listFiles(context, { selector, recursive }, ({ path, entry }) => lines.push(`${entry.type} ${path}`));
  return lines;
}

describe('listFiles', () => {
  it('visits each directory before what is in it, in byte order', async () => {
    expect(await list(await makeSaved(), 'latest')).toEqual([
      'directory source',
      'file source/a',
      'directory source/b',
      'directory source/b/c',
      'file source/b/c/y',
      'file source/b/x',
      'file source/b-',
      'symlink source/link',
      'file source/\xff',
    ]);
  });

  it('lists one directory, a file, or only the first level', async () => {
    const repository = await makeSaved();
    expect(await list(repository, 'latest:source/b')).toEqual([
      'directory source/b/c',
      'file source/b/c/y',
      'file source/b/x',
    ]);
    expect(await list(repository, 'latest:source/b', false)).toEqual(['directory source/b/c', 'file source/b/x']);
    expect(await list(repository, 'latest:source/b/x')).toEqual(['file source/b/x']);
    expect(await list(repository, `latest:${repository.source}/b/x`)).toEqual(['file source/b/x']);
    expect(await list(repository, 'latest', false)).toEqual(['directory source']);
  });

  it('says which snapshot it was, and which path is not in it', async () => {
    const repository = await makeSaved();
    const { snapshotId } = await repository.backup();
    const listed = await listFiles(repository.context, { selector: 'latest', recursive: false }, () => undefined);
    expect(listed.id).toBe(snapshotId);
    await expect(list(repository, 'latest:source/absent')).rejects.toThrow(SnapshotNotFoundError);
    await expect(list(repository, 'latest:source/link/below')).rejects.toThrow(/^source\/link is not in snapshot/);
  });
});
