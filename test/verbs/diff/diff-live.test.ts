import { once } from 'node:events';
import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { SourceError, UsageError } from '../../../src/core/errors.ts';
import { diffSnapshots } from '../../../src/verbs/diff/diff.ts';
import type { DiffOptions, DiffResult } from '../../../src/verbs/diff/diff.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';
import { bytesOf } from '../../../src/core/util/byte-string.ts';
import { mutateTree } from '../../support/mutate-tree.ts';
import { createPrng } from '../../support/prng.ts';
import { makeRandomTree } from '../../support/random-tree.ts';
import { seedsOf } from '../../support/seeds.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

describe('diffSnapshots of a snapshot and live files', () => {
  const diffLive = async (
    { context }: TestRepository,
    options: Partial<DiffOptions> = {},
  ): Promise<{ result: DiffResult; lines: string[] }> => {
    const result = await diffSnapshots(context, { before: 'latest', ...options });
    const lines = result.changes.map(({ modifier, path, sourcePath }) => [modifier, sourcePath, path].join(' '));
    return { result, lines };
  };

  it.each(seedsOf(1, 10))('gives what a backup would then find (seed %i)', async (seed) => {
    const prng = createPrng(seed);
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    makeRandomTree(join(repository.source, 'tree'), { seed, fileCount: 50, fileSizeBytesMax: 60_000 });
    await repository.backup();
    for (let round = 0; round < 8; round += 1) {
      const log = mutateTree(repository.source, prng, { changeCount: 6 });
      const variants = [{}, { checksum: true }, { after: bytesOf(repository.source as ByteString) }];
      const live = await diffLive(repository, variants[round % 3]);
      await repository.backup();
      const { changes } = await diffSnapshots(repository.context, { before: 'latest~1', after: 'latest' });
      const expected = changes.map(({ modifier, path, sourcePath }) => [modifier, sourcePath, path].join(' '));
      // A moved directory is one change between snapshots only.
      if (!changes.some(({ modifier, type }) => modifier === 'R' && type === 'directory'))
        expect(live.lines, `seed ${seed}: ${log.join('; ')}`).toEqual(expected);
      expect(live.result.unreadableSources).toBe(0);
    }
  });

  it('compares only what was backed up, and can compare a restored snapshot with its own', async () => {
    const repository = await makeTestRepository();
    writeFileSync(join(repository.source, 'file'), 'x');
    await repository.backup();
    writeFileSync(join(repository.directory, 'beside'), 'x');
    expect((await diffLive(repository)).lines).toEqual([]);
    expect((await diffLive(repository, { after: repository.directory })).lines).toEqual([]);
    const { target } = await repository.restore();
    expect((await diffLive(repository, { after: target, checksum: true, metadata: true })).lines).toEqual([]);
    writeFileSync(join(target, 'source', 'file'), 'y');
    expect((await diffLive(repository, { after: target })).lines).toEqual(['M  source/file']);
    expect(
      (await diffLive(repository, { after: join(target, 'source', 'file'), before: 'latest:source/file' })).lines,
    ).toEqual(['M  file']);
  });

  it('sees another content with the same size and time only if it reads all files', async () => {
    const repository = await makeTestRepository();
    const file = join(repository.source, 'file');
    writeFileSync(file, 'one');
    utimesSync(file, 1000, 1000);
    await repository.backup();
    writeFileSync(file, 'two');
    utimesSync(file, 1000, 1000);
    expect((await diffLive(repository)).lines).toEqual([]);
    expect((await diffLive(repository, { checksum: true })).lines).toEqual([`M  ${file}`]);
    writeFileSync(file, 'one');
    // Another time and the same content: read, and found to be the same.
    expect((await diffLive(repository)).lines).toEqual([]);
    expect((await diffLive(repository, { metadata: true })).lines).toContain(`U  ${file}`);
  });

  it('names a type that changed, and what is in the directory', async () => {
    const repository = await makeTestRepository();
    mkdirSync(join(repository.source, 'a'));
    writeFileSync(join(repository.source, 'a', 'file'), 'x');
    await repository.backup();
    rmSync(join(repository.source, 'a'), { recursive: true });
    symlinkSync('x', join(repository.source, 'a'));
    expect((await diffLive(repository)).lines).toEqual([`T  ${repository.source}/a`, `-  ${repository.source}/a/file`]);
  });

  it('compares sockets, which a backup saves too', async () => {
    const repository = await makeTestRepository();
    const server = createServer().listen(join(repository.source, 's'));
    await once(server, 'listening');
    await repository.backup();
    expect((await diffLive(repository)).lines).toEqual([]);
    server.close();
  });

  it('takes a name for a snapshot if it looks like one, and refuses a snapshot of another machine', async () => {
    const repository = await makeTestRepository();
    writeFileSync(join(repository.source, 'file'), 'x');
    await repository.backup({ hostname: `not-${hostname()}` });
    await expect(diffLive(repository)).rejects.toThrow(UsageError);
    expect((await diffLive(repository, { after: repository.source })).lines).toEqual([]);
    await expect(diffLive(repository, { after: 'beef' })).rejects.toThrow('no snapshot id begins with beef');
    await expect(diffLive(repository, { after: './beef' })).rejects.toThrow(SourceError);
  });
});
