import { readdirSync, rmSync, statSync, truncateSync, writeFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { check } from '../../../src/verbs/check/check.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { importMembers } from '../../support/imported-archive.ts';
import { createPrng } from '../../support/prng.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

const MIB = 1024 * 1024;

async function makeLargeFile(): Promise<{ repository: TestRepository; file: string }> {
  const repository = await makeTestRepository();
  const file = join(repository.source, 'vm.img');
  writeFileSync(file, createPrng(34).bytes(3 * MIB));
  truncateSync(file, 65 * MIB);
  return { repository, file };
}

test('stored small chunks serve a new stream, and a file of an archive', async () => {
  const { repository, file } = await makeLargeFile();
  await repository.backup({ smallChunks: 'always' });
  const bytes = readFileSync(file);
  async function* parts(): AsyncGenerator<Uint8Array> {
    yield bytes;
  }
  const streamed = await repository.backup({ sources: [], stream: { path: '/db.sql', content: parts() } });
  expect(streamed.summary.dataBlobs).toBe(0);
  const { summary } = await importMembers(repository, [{ path: 'vm.img', content: bytes.toString('latin1') }]);
  expect(summary.dataBlobs).toBe(0);
});

test('a large chunk that is lost comes back with a backup that stores small ones', async () => {
  const { repository } = await makeLargeFile();
  await repository.backup();
  const packs = join(repository.context.backend.localDirectory, 'packs');
  const files = readdirSync(packs, { recursive: true, encoding: 'utf8' }).map((name) => join(packs, name));
  rmSync(files.filter((path) => statSync(path).isFile()).sort((a, b) => statSync(b).size - statSync(a).size)[0]!);
  await repair(repository.context);
  expect((await check(repository.context)).findings).not.toEqual([]);
  await repository.backup({ smallChunks: 'always', force: true });
  await repository.expectClean();
});
