import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { SnapshotNotFoundError, UsageError } from '../../../src/core/errors.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { measureUsage } from '../../../src/verbs/du/du.ts';
import { tagSnapshots } from '../../../src/verbs/tag/tag.ts';
import { makeManySnapshots } from '../../support/many-snapshots.ts';
import { createPrng } from '../../support/prng.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

describe('measureUsage', () => {
  it('lists the directories of each snapshot, one level by default', async () => {
    const repository = await makeTestRepository();
    for (const path of ['a/x', 'b/y/z']) mkdirSync(join(repository.source, path), { recursive: true });
    writeFileSync(join(repository.source, 'a', 'file'), createPrng(1).bytes(10_000));
    writeFileSync(join(repository.source, 'b', 'file'), createPrng(1).bytes(10_000));
    await repository.backup();
    await repository.backup();
    const { source, context, directory } = repository;
    const pathsOf = async (options: Parameters<typeof measureUsage>[1]): Promise<string[][]> =>
      (await measureUsage(context, options)).map(({ rows }) => rows.map(({ path }) => path));
    expect(await pathsOf({})).toEqual([[directory, source, `${source}/a`, `${source}/b`]]);
    expect(await pathsOf({ selectors: ['latest', 'latest~1'], depth: 0 })).toEqual([
      [directory, source],
      [directory, source],
    ]);
    expect(await pathsOf({ selectors: ['latest:source/b'], depth: 9 })).toEqual([
      [`${source}/b`, `${source}/b/y`, `${source}/b/y/z`],
    ]);
    expect(await pathsOf({ selectors: [`latest:${source}/a/file`] })).toEqual([[`${source}/a/file`]]);
    expect(await pathsOf({ asOne: true })).toEqual([[directory]]);
    await expect(pathsOf({ selectors: ['latest:absent'] })).rejects.toThrow(SnapshotNotFoundError);
    await expect(pathsOf({ selectors: ['latest:a', 'latest~1:b'], asOne: true })).rejects.toThrow(UsageError);
  });

  it('counts what two directories share only for the directory above them', async () => {
    const repository = await makeTestRepository();
    for (const name of ['a', 'b']) {
      mkdirSync(join(repository.source, name));
      writeFileSync(join(repository.source, name, 'file'), createPrng(1).bytes(10_000));
      writeFileSync(join(repository.source, name, name), createPrng(name.charCodeAt(0)).bytes(1000));
    }
    await repository.backup();
    const [usage] = await measureUsage(repository.context, {});
    const [, source, a, b] = usage!.rows;
    expect(source!.onlyHere.rawBytes).toBeGreaterThan(12_000);
    for (const row of [a!, b!]) {
      expect(row.onlyHere.rawBytes).toBeLessThan(2000);
      expect(row.onlyHere.chunkCount).toBe(1);
      expect(row.apparentBytes).toBe(11_000);
      expect(row.referencedBytes).toBeGreaterThan(11_000);
    }
    rmSync(join(repository.source, 'b', 'file'));
    await repository.backup();
    // The first snapshot still has it.
    const [latest] = await measureUsage(repository.context, { depth: 0 });
    expect(latest!.rows[1]!.onlyHere.chunkCount).toBe(0);
    const both = await measureUsage(repository.context, {
      asOne: true,
      selectors: ['latest:source/a/file', 'latest~1:source/a/file'],
    });
    expect(both[0]!.rows).toMatchObject([{ apparentBytes: 20_000, onlyHere: { chunkCount: 0 } }]);
  });

  it('does not count a directory that another path has too', async () => {
    const repository = await makeTestRepository();
    for (const name of ['a', 'b']) mkdirSync(join(repository.source, name, 'sub'), { recursive: true });
    writeFileSync(join(repository.source, 'a', 'sub', 'file'), createPrng(1).bytes(10_000));
    // With the same inode, both directories have the same tree.
    linkSync(join(repository.source, 'a', 'sub', 'file'), join(repository.source, 'b', 'sub', 'file'));
    await repository.backup();
    const [usage] = await measureUsage(repository.context, { depth: 2 });
    const onlyHere = new Map(usage!.rows.map((row) => [row.path.slice(repository.source.length), row.onlyHere]));
    expect(onlyHere.get('/a/sub')).toMatchObject({ chunkCount: 0, treeCount: 0, storedBytes: 0 });
    expect(onlyHere.get('/b/sub')).toMatchObject({ chunkCount: 0, treeCount: 0, storedBytes: 0 });
    expect(onlyHere.get('')).toMatchObject({ chunkCount: 1, treeCount: 4 });
  });

  it('does not count what another snapshot has in a directory that it shares', async () => {
    const repository = await makeTestRepository();
    const deep = join(repository.source, 'a', 'b', 'c');
    mkdirSync(deep, { recursive: true });
    writeFileSync(join(deep, 'file'), createPrng(1).bytes(10_000));
    await repository.backup();
    writeFileSync(join(repository.source, 'other'), 'x');
    await repository.backup();
    const of = async (selectors: string[]): Promise<Map<string, number>> => {
      const [usage] = await measureUsage(repository.context, { selectors, depth: 3, asOne: true });
      return new Map(usage!.rows.map((row) => [row.path.slice(repository.source.length), row.onlyHere.chunkCount]));
    };
    const one = await of(['latest']);
    expect(['', '/a', '/a/b', '/a/b/c'].map((path) => one.get(path))).toEqual([1, 0, 0, 0]);
    const both = await of(['latest', 'latest~1']);
    expect(['', '/a', '/a/b', '/a/b/c'].map((path) => both.get(path))).toEqual([2, 1, 1, 1]);
  });

  it('gives the same total of a set with and without its directories', async () => {
    const stage = await makeManySnapshots(62, { snapshotCount: 5, fileCount: 30 });
    const [usage] = await measureUsage(stage.context, { asOne: true, filter: { hosts: ['one'] } });
    expect(usage!.snapshots.map(({ snapshot }) => snapshot.hostname)).toEqual(['one', 'one', 'one']);
    expect(usage!.rows).toHaveLength(1);
    const selectors = usage!.snapshots.map(({ id }) => id);
    const [walked] = await measureUsage(stage.context, { asOne: true, selectors, depth: 0 });
    expect(usage!.rows[0]).toEqual(walked!.rows[0]);
    expect(usage!.rows[0]!.referencedBytes).toBeGreaterThan(usage!.rows[0]!.onlyHere.storedBytes);
    expect(usage!.rows[0]!.onlyHere).toEqual((await deleteSnapshots(stage.context, { selectors, dryRun: true })).freed);
  });

  it('takes several directories of a snapshot, and lists each once', async () => {
    const repository = await makeTestRepository();
    for (const name of ['a', 'a.b', 'a/c']) mkdirSync(join(repository.source, name));
    await repository.backup();
    const { source, context } = repository;
    const selectors = ['latest:source/a', 'latest:source/a.b', `latest:${source}/./a/`];
    const usages = await measureUsage(context, { selectors, depth: 0 });
    expect(usages.map(({ rows }) => rows.map(({ path }) => path))).toEqual([[`${source}/a`], [`${source}/a.b`]]);
    // What is in a directory follows it, whatever the names beside it.
    const [all] = await measureUsage(context, { depth: 2 });
    expect(all!.rows.slice(1).map(({ path }) => path.slice(source.length))).toEqual(['', '/a', '/a/c', '/a.b']);
  });

  it.each([[['a', '']], [['', 'a']]])('counts levels from the nearest path that was backed up: %j', async (names) => {
    const repository = await makeTestRepository();
    const { source, directory } = repository;
    mkdirSync(join(source, 'a', 'b'), { recursive: true });
    for (const name of names) await repository.backup({ sources: [join(source, name)] });
    const selectors = ['latest', 'latest~1'];
    const [usage] = await measureUsage(repository.context, { selectors, asOne: true, depth: 1 });
    expect(usage!.rows.map(({ path }) => path)).toEqual([directory, source, `${source}/a`, `${source}/a/b`]);
  });

  it('counts a changed snapshot whose earlier version is left with what deleting it frees', async () => {
    const repository = await makeTestRepository();
    writeFileSync(join(repository.source, 'file'), createPrng(1).bytes(10_000));
    const { snapshotId } = await repository.backup();
    const manifest = join(repository.directory, 'repository', 'snapshots', snapshotId!);
    const bytes = readFileSync(manifest);
    await tagSnapshots(repository.context, { selectors: ['latest'], add: ['x'] });
    expect(existsSync(manifest)).toBe(false);
    // The change was interrupted before it removed the old manifest.
    writeFileSync(manifest, bytes);
    const { freed } = await deleteSnapshots(repository.context, { selectors: ['latest'], dryRun: true });
    expect(freed).toMatchObject({ chunkCount: 1, treeCount: 2 });
    const [usage] = await measureUsage(repository.context, { depth: 0 });
    expect(usage!.rows.map(({ onlyHere }) => onlyHere.chunkCount)).toEqual([1, 1]);
    expect(usage!.rows[0]!.onlyHere).toEqual(freed);
  });
});
