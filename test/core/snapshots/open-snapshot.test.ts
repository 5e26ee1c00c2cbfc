import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

import { describe, expect, it } from 'vitest';

import {
  CancelledError,
  CorruptDataError,
  RepositoryLockedError,
  SnapshotNotFoundError,
  UsageError,
} from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { openRepositoryForReading, openSnapshot } from '../../../src/core/snapshots/open-snapshot.ts';
import type { ReadVersionsOptions } from '../../../src/core/snapshots/open-snapshot.ts';
import { nameBytes } from '../../../src/core/util/byte-string.ts';
import { CountingBackend } from '../../support/counting-backend.ts';
import { filesIn, flip } from '../../support/damage.ts';
import { createPrng } from '../../support/prng.ts';
import { makeRandomTree } from '../../support/random-tree.ts';
import { seedsOf } from '../../support/seeds.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { inSoak } from '../../support/soak.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { makeTwinCopies } from '../../support/twin-copies.ts';

const MIB = 1024 * 1024;

async function makeSaved(): Promise<TestRepository> {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  mkdirSync(join(repository.source, 'a/b'), { recursive: true });
  writeFileSync(join(repository.source, 'a/b/file'), 'content');
  writeFileSync(Buffer.concat([Buffer.from(`${repository.source}/a/`), Buffer.of(0xff, 0xe9)]), 'odd');
  symlinkSync('b/file', join(repository.source, 'a/link'));
  await repository.backup();
  return repository;
}

describe('openSnapshot', () => {
  it('lists directories, finds entries by path, and reads links', async () => {
    const repository = await makeSaved();
    const snapshot = await openSnapshot(repository.context, { selector: 'latest:source/a' });
    const names: string[] = [];
    for await (const entry of snapshot.entries(snapshot.path)) {
      names.push(entry.name);
      expect(await snapshot.lookup(snapshot.path, entry.name)).toEqual(entry);
      const path = Buffer.concat([Buffer.from('source/a/'), nameBytes(entry.name)]);
      expect(await snapshot.stat(path)).toEqual(entry);
    }
    expect(names).toEqual(['b', 'link', '\xff\xe9']);
    expect((await snapshot.stat(`${repository.source}/a/b/file`)).sizeBytes).toBe(7);
    expect((await snapshot.stat('/')).type).toBe('directory');
    expect(Buffer.from(await snapshot.readLink('source/a/link')).toString()).toBe('b/file');
    expect(await snapshot.lookup('', 'absent' as never)).toBeUndefined();
    await expect(snapshot.stat('source/absent')).rejects.toThrow(SnapshotNotFoundError);
    await expect(snapshot.readRange('source', 0, 1)).rejects.toThrow(UsageError);
    await snapshot.close();
    await expect(snapshot.stat('source')).rejects.toThrow('closed');
  });

  it.each(seedsOf(1, 10))('gives every file back, as a whole and in any range (seed %i)', async (seed) => {
    const prng = createPrng(seed);
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    const files = makeRandomTree(join(repository.source, 'tree'), { seed, fileCount: 40, fileSizeBytesMax: 300_000 });
    await repository.backup();
    const snapshot = await openSnapshot(repository.context, { selector: 'latest' });
    for (const latin1 of files) {
      const path = Buffer.from(latin1, 'latin1');
      const content = readFileSync(path);
      const file = await snapshot.openFile(path);
      expect(await buffer(snapshot.readFile(file.entry))).toEqual(content);
      const ranges = Array.from(
        { length: 20 },
        () => [prng.int(content.length + 2), prng.int(content.length + 2)] as const,
      );
      const read = await Promise.all(
        ranges.map(async ([offset, length]) => snapshot.readRange(file.entry, offset, length)),
      );
      for (const [index, [offset, length]] of ranges.entries())
        expect(Buffer.compare(read[index]!, content.subarray(offset, offset + length)), `seed ${seed}, ${latin1}`).toBe(
          0,
        );
      const [start, end] = [prng.int(content.length + 1), prng.int(content.length + 1)];
      expect(await buffer(snapshot.readFile(path, { start, end }))).toEqual(
        content.subarray(start, Math.max(start, end)),
      );
    }
    await snapshot.close();
  });

  it('reads ranges of chunks that are larger than the cache without reading the chunk each time', async () => {
    const repository = await makeTestRepository({ chunker: { kind: 'fixed', sizeBytes: 12 * MIB } });
    const content = createPrng(3).bytes(25 * MIB);
    writeFileSync(join(repository.source, 'large'), content);
    await repository.backup();
    const backend = new CountingBackend(repository.context.backend);
    const snapshot = await openSnapshot({ ...repository.context, backend }, { selector: 'latest', cacheBytes: MIB });
    const file = await snapshot.openFile('source/large');
    for (let offset = 0; offset < content.length; offset += MIB) {
      const range = await file.read(offset, MIB);
      expect(Buffer.compare(range, content.subarray(offset, offset + MIB))).toBe(0);
    }
    expect(backend.bytesReadIn('packs')).toBeLessThan(27 * MIB);
    await snapshot.close();
  });

  it('reads only the blocks that a range needs, and each once for a sequential reader', async () => {
    const repository = await makeTestRepository();
    const mebibytes = inSoak(60, 24);
    const content = createPrng(4).bytes(mebibytes * MIB);
    writeFileSync(join(repository.source, 'large'), content);
    await repository.backup();
    const backend = new CountingBackend(repository.context.backend);
    const snapshot = await openSnapshot({ ...repository.context, backend }, { selector: 'latest' });
    const file = await snapshot.openFile('source/large');
    const before = backend.bytesReadIn('packs');
    await file.read((mebibytes / 2) * MIB, 100);
    expect(backend.bytesReadIn('packs') - before).toBeLessThan(9 * MIB);
    for (let offset = 0; offset < content.length; offset += 128 * 1024) {
      const range = await file.read(offset, 128 * 1024);
      expect(Buffer.compare(range, content.subarray(offset, offset + 128 * 1024))).toBe(0);
    }
    expect(backend.bytesReadIn('packs') - before).toBeLessThan((mebibytes + 10) * MIB);
    await snapshot.close();
  });

  it('gives any page of a directory', async () => {
    const repository = await makeTestRepository();
    for (let number = 0; number < 40; number += 1) writeFileSync(join(repository.source, `file ${number}`), '');
    await repository.backup();
    const snapshot = await openSnapshot(repository.context, { selector: 'latest' });
    const all: string[] = [];
    for await (const entry of snapshot.entries('source')) all.push(entry.name);
    for (const [from, limit] of [
      [0, 100],
      [0, 7],
      [35, 10],
      [39, 1],
      [40, 5],
      [12, 0],
    ] as const) {
      const { entries, total } = await snapshot.page('source', { from, limit });
      expect(total).toBe(40);
      expect(entries.map(({ name }) => name)).toEqual(all.slice(from, from + limit));
      expect(await snapshot.stat('source/file 3')).toMatchObject({ name: 'file 3' });
    }
    await expect(snapshot.page('source/file 3', { from: 0, limit: 1 })).rejects.toThrow(UsageError);
    await snapshot.close();
  });

  it('gives pages of the entries of one type, with their number', async () => {
    const repository = await makeTestRepository();
    const names = Array.from({ length: 30 }, (_, number) => `entry ${String(number).padStart(2, '0')}`);
    for (const [number, name] of names.entries()) {
      if (number % 3 === 0) mkdirSync(join(repository.source, name));
      else writeFileSync(join(repository.source, name), '');
    }
    await repository.backup();
    const snapshot = await openSnapshot(repository.context, { selector: 'latest' });
    const pageOf = async (type: 'file' | 'directory' | 'symlink', from: number, limit: number): Promise<unknown> => {
      const { entries, total } = await snapshot.page('source', { from, limit, type });
      return [total, ...entries.map(({ name }) => name)];
    };
    const directories = names.filter((_, number) => number % 3 === 0);
    expect(await pageOf('directory', 0, 100)).toEqual([10, ...directories]);
    expect(await pageOf('directory', 8, 5)).toEqual([10, ...directories.slice(8)]);
    expect(await pageOf('file', 19, 2)).toEqual([20, names[29]]);
    expect(await pageOf('symlink', 0, 100)).toEqual([0]);
    expect(await snapshot.page('source', { from: 0, limit: 1 })).toMatchObject({ total: 30 });
    await snapshot.close();
  });

  it('streams the versions of a path', async () => {
    const repository = await makeTestRepository();
    const file = join(repository.source, 'file');
    for (const content of ['one', 'one', 'two', undefined, 'two']) {
      rmSync(file, { force: true });
      if (content !== undefined) writeFileSync(file, content);
      await repository.backup();
    }
    const reader = await openRepositoryForReading(repository.context);
    const versions: string[] = [];
    for await (const { change, entry, snapshotCount } of reader.versions(file))
      versions.push(`${change} ${entry?.sizeBytes ?? '-'} ${snapshotCount}`);
    expect(versions).toEqual(['+ 3 2', 'M 3 1', '- - 1', '+ 3 1']);
    const changesWith = async (options: ReadVersionsOptions): Promise<string[]> => {
      const changes: string[] = [];
      for await (const { change } of reader.versions(file, options)) changes.push(change);
      return changes;
    };
    expect(await changesWith({ filter: { since: reader.snapshots.at(-2)!.snapshot.time } })).toEqual(['+']);
    expect(await changesWith({ filter: { hosts: ['elsewhere'] } })).toEqual([]);
    await expect(changesWith({ signal: AbortSignal.abort() })).rejects.toThrow(CancelledError);
    // The search was cancelled, and not the reader.
    expect(await changesWith({})).toHaveLength(4);
    await reader.close();
  });

  it('makes a compaction wait until it is closed, and no backup', async () => {
    const repository = await makeSaved();
    const opened = await openRepositoryForReading(repository.context);
    await expect(compact(repository.context)).rejects.toThrow(RepositoryLockedError);
    writeFileSync(join(repository.source, 'new'), 'new');
    await repository.backup();
    expect(opened.snapshots).toHaveLength(1);
    const first = opened.open(opened.select('latest'));
    expect(await buffer(first.readFile('source/a/b/file'))).toEqual(Buffer.from('content'));
    await opened.close();
    await opened.close();
    await compact(repository.context);
    const again = await openRepositoryForReading(repository.context);
    expect(again.snapshots).toHaveLength(2);
    await again.close();
  });

  it('leaves no lock behind when there is no such snapshot', async () => {
    const repository = await makeSaved();
    await expect(openSnapshot(repository.context, { selector: 'latest~5' })).rejects.toThrow(SnapshotNotFoundError);
    await compact(repository.context);
  });

  it('never returns damaged bytes: it reads another copy, or fails', async () => {
    const { disk, source, dataPacks } = await makeTwinCopies();
    const [first, second] = [...dataPacks.values()];
    const content = readFileSync(join(source, 'photo-2'));
    const readAll = async (): Promise<Buffer> => {
      const snapshot = await openSnapshot(simulatedProcess(disk), { selector: 'latest' });
      try {
        return await buffer(snapshot.readFile(`${source}/photo-2`));
      } finally {
        await snapshot.close();
      }
    };
    for (const pack of first!) for (let at = 200; at < 14_000; at += 500) await flip(disk, pack, at).apply(disk);
    expect(await readAll()).toEqual(content);
    for (const pack of second!) for (let at = 200; at < 14_000; at += 500) await flip(disk, pack, at).apply(disk);
    await expect(readAll()).rejects.toThrow(CorruptDataError);
    expect(filesIn(disk, 'locks')).toEqual([]);
    await backup(simulatedProcess(disk), { sources: [source], cwd: '/' });
  });
});
