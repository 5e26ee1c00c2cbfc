import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { findContent } from '../../../src/verbs/have/have.ts';
import type { HaveResult, SoughtFile } from '../../../src/verbs/have/have.ts';
import { bytesOf } from '../../../src/core/util/byte-string.ts';
import { createPrng } from '../../support/prng.ts';
import { makeRandomTree } from '../../support/random-tree.ts';
import { seedsOf } from '../../support/seeds.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

async function find(
  { context }: TestRepository,
  ...paths: (string | Uint8Array)[]
): Promise<{ readonly result: HaveResult; readonly files: readonly SoughtFile[] }> {
  const files: SoughtFile[] = [];
  const result = await findContent(context, { paths }, (file) => files.push(file));
  expect(result.files).toBe(files.length);
  expect(result.missingFiles).toBe(files.filter(({ isThere }) => !isThere).length);
  return { result, files };
}

describe('findContent', () => {
  it('finds files with long runs of zeros, and none where one byte in them differs', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    const random = createPrng(4);
    const parts = [Buffer.alloc(1_500_000), random.bytes(70_001), Buffer.alloc(2_500_003), random.bytes(5)];
    const path = join(repository.source, 'sparse');
    writeFileSync(path, Buffer.concat(parts));
    await repository.backup();
    expect((await find(repository, path)).result).toMatchObject({ files: 1, missingFiles: 0, missingBytes: 0 });
    parts[2]!.writeUInt8(1, 1_234_567);
    writeFileSync(path, Buffer.concat(parts));
    expect((await find(repository, path)).result).toMatchObject({ files: 1, missingFiles: 1 });
  });

  it.each(seedsOf(1, 10))(
    'finds every file of a tree that was backed up, under any name, and none that changed (seed %i)',
    async (seed) => {
      const prng = createPrng(seed);
      const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
      const tree = join(repository.source, 'tree');
      const paths = makeRandomTree(tree, { seed, fileCount: 40, fileSizeBytesMax: 100_000, hasSpecialEntries: false });
      await repository.backup();
      const copy = join(repository.directory, 'copy');
      await repository.restore({ target: copy });
      const copied = await find(repository, copy);
      expect(copied.result).toMatchObject({ files: paths.length, missingFiles: 0, missingBytes: 0, unreadable: 0 });
      const changed = new Set<string>();
      for (const [index, path] of paths.entries()) {
        if (index % 3 !== 0) continue;
        writeFileSync(Buffer.from(path, 'latin1'), prng.bytes(1 + prng.int(30_000)));
        changed.add(path);
      }
      const { files } = await find(repository, repository.source);
      expect(new Set(files.filter(({ isThere }) => !isThere).map(({ path }) => path))).toEqual(changed);
      expect(files.map(({ path }) => path)).toHaveLength(paths.length);
    },
  );

  it('sees that a part of a file is missing', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    const content = createPrng(1).bytes(50_000);
    writeFileSync(join(repository.source, 'file'), content);
    await repository.backup();
    const longer = join(repository.directory, 'longer');
    writeFileSync(longer, Buffer.concat([content, createPrng(2).bytes(20_000)]));
    expect((await find(repository, longer)).result).toMatchObject({ missingFiles: 1, missingBytes: 70_000 });
  });

  it('does not count what no snapshot uses any more', async () => {
    const repository = await makeTestRepository();
    const file = join(repository.source, 'file');
    writeFileSync(file, createPrng(1).bytes(5000));
    await repository.backup();
    expect((await find(repository, file)).result.missingFiles).toBe(0);
    await deleteSnapshots(repository.context, { selectors: ['latest'], reclaim: false });
    expect((await find(repository, file)).result.missingFiles).toBe(1);
  });

  it('follows a link that was named, and no other; an empty file is always there', async () => {
    const repository = await makeTestRepository();
    const directory = join(repository.directory, 'other');
    mkdirSync(directory);
    writeFileSync(join(directory, 'file'), 'new');
    writeFileSync(join(directory, 'empty'), '');
    symlinkSync('file', join(directory, 'link'));
    symlinkSync('other', join(repository.directory, 'way'));
    expect((await find(repository, directory)).files.map(({ path }) => path)).toEqual([
      `${directory}/empty`,
      `${directory}/file`,
    ]);
    const named = await find(repository, join(directory, 'link'), join(repository.directory, 'way', 'empty'));
    expect(named.files.map(({ isThere }) => isThere)).toEqual([false, true]);
    expect((await find(repository, join(repository.directory, 'way'))).result.files).toBe(2);
  });

  it('reports what cannot be read, and goes on', async () => {
    const repository = await makeTestRepository();
    const odd = Buffer.concat([Buffer.from(`${repository.source}/`), Buffer.of(0xff)]);
    writeFileSync(odd, 'x');
    const { result, files } = await find(repository, join(repository.source, 'absent'), odd);
    expect(result).toMatchObject({ files: 1, missingFiles: 1, unreadable: 1 });
    expect(bytesOf(files[0]!.path)).toEqual(odd);
    expect(repository.notices.map(({ kind }) => kind)).toContain('source-problem');
    rmSync(odd);
  });
});
