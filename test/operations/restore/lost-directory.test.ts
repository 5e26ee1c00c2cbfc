import { mkdirSync, writeFileSync } from 'node:fs';
import type * as Fs from 'node:fs';
import { join } from 'node:path';

import { expect, test, vi } from 'vitest';

import { createProgress } from '../../../src/operations/context.ts';
import { restore } from '../../../src/operations/restore.ts';
import { diffTrees } from '../../support/compare-trees.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

const faults = vi.hoisted(() => ({ name: undefined as string | undefined, firedCount: 0 }));

vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof Fs>();
  const mkdirFaulty = (path: Fs.PathLike, options?: Fs.MakeDirectoryOptions): string | undefined => {
    if (faults.name !== undefined && String(path).endsWith(`/${faults.name}`)) {
      faults.firedCount += 1;
      throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
    }
    return fs.mkdirSync(path, options);
  };
  return { ...fs, mkdirSync: mkdirFaulty };
});

test('a directory that cannot be created is reported once, and everything else is restored', async () => {
  const repository = await makeTestRepository();
  const { source, context, directory } = repository;
  const target = join(directory, 'target');
  for (const path of ['new/lost', 'new/lost/sub', 'new/lost/z/empty', 'new/kept/empty', 'other']) {
    mkdirSync(join(source, path), { recursive: true });
    for (const name of path.endsWith('empty') ? [] : ['a', 'b']) writeFileSync(join(source, path, name), path + name);
  }
  await repository.backup();
  faults.name = 'lost';
  const progress = createProgress();
  const result = await restore({ ...context, progress }, { selector: 'latest', target });
  faults.name = undefined;
  expect(faults.firedCount).toBe(1);
  expect(result.problems).toMatchObject([{ path: 'source/new/lost', code: 'TARGET' }]);
  expect(result).toMatchObject({ directoriesFailed: 1, filesFailed: 0, filesRestored: 2, directoriesRestored: 5 });
  expect(progress.filesDone).toBe(6);
  const differences = diffTrees(source, join(target, 'source'), { ignore: ['mtimeNs'] });
  expect(differences.filter((line) => !line.startsWith('"new/lost'))).toEqual([]);
});
