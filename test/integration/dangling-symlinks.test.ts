import { lstatSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { exitCodeOfRepair } from '../../src/verbs/repair/report.ts';
import { exitCodeOfCheck } from '../../src/verbs/check/report.ts';
import { check } from '../../src/verbs/check/check.ts';
import { checkStorage } from '../../src/verbs/check/check-storage.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { createPrng } from '../support/prng.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';

async function repositoryWithTwoSnapshots(): Promise<TestRepository> {
  const repository = await makeTestRepository();
  const random = createPrng(5);
  for (const name of ['one', 'two']) {
    writeFileSync(join(repository.source, name), random.bytes(100_000));
    await repository.backup();
  }
  return repository;
}

/** Returns the paths of the files below a directory of a repository, relative to the repository. */
function filesIn({ context }: TestRepository, directory: string): string[] {
  const { location } = context.backend;
  return readdirSync(join(location, directory), { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((name) => lstatSync(join(location, name)).isFile())
    .sort();
}

/** Such a name is listed, and cannot be read: it must not look like a file that another process has just removed. */
describe('a symlink to nothing is damage', () => {
  test.each(['snapshots', 'manifests.bak', 'packs', 'index', 'filter', 'config'])(
    'in the place of %s',
    async (kind) => {
      const repository = await repositoryWithTwoSnapshots();
      const { context } = repository;
      const [name] = kind === 'config' ? ['config'] : filesIn(repository, kind);
      const path = join(context.backend.location, name!);
      rmSync(path);
      symlinkSync('/nonexistent/file', path);
      const found = await check(context);
      expect(exitCodeOfCheck(found)).toBe(4);
      expect(exitCodeOfCheck(await checkStorage(context))).toBe(4);
      const predicted = await repair(context, { dryRun: true });
      expect(lstatSync(path).isSymbolicLink()).toBe(true);
      const repaired = await repair(context);
      expect(exitCodeOfRepair(predicted)).toBe(exitCodeOfRepair(repaired));
      const left = await check(context, { readData: true });
      expect(JSON.stringify(left.findings)).not.toContain('symlink');
      // Only a pack has something that is nowhere else.
      if (kind === 'packs') expect(repaired.remaining.length).toBeGreaterThan(0);
      else expect([...repaired.remaining, ...left.findings]).toEqual([]);
    },
  );
});

test('without a key, all packs together are missed, and not a single one', async () => {
  const repository = await repositoryWithTwoSnapshots();
  const { context } = repository;
  const packs = filesIn(repository, 'packs');
  rmSync(join(context.backend.location, packs[0]!));
  expect((await checkStorage(context)).findings).toEqual([]);
  rmSync(join(context.backend.location, 'packs'), { recursive: true });
  expect((await checkStorage(context)).findings).toEqual([{ severity: 'error', kind: 'packs-missing' }]);
});
