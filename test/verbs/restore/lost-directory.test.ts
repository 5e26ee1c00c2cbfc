import { mkdirSync, writeFileSync } from 'node:fs';
import type { MakeDirectoryOptions, PathLike } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { createProgress } from '../../../src/core/session/progress.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { diffTrees } from '../../support/compare-trees.ts';
import { replaceCall } from '../../support/replaced-call.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

test('a directory that cannot be created is reported once, and everything else is restored', async () => {
  const repository = await makeTestRepository();
  const { source, context, directory } = repository;
  const target = join(directory, 'target');
  for (const path of ['new/lost', 'new/lost/sub', 'new/lost/z/empty', 'new/kept/empty', 'other']) {
    mkdirSync(join(source, path), { recursive: true });
    for (const name of path.endsWith('empty') ? [] : ['a', 'b']) writeFileSync(join(source, path, name), path + name);
  }
  await repository.backup();
  let firedCount = 0;
  replaceCall(
    'mkdirSync',
    (mkdir) =>
      ((path: PathLike, options?: MakeDirectoryOptions) => {
        if (!String(path).endsWith('/lost')) return mkdir(path, options);
        firedCount += 1;
        throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
      }) as typeof mkdirSync,
  );
  const progress = createProgress();
  const result = await restore({ ...context, progress }, { selector: 'latest', target });
  expect(firedCount).toBe(1);
  expect(result.problems).toMatchObject([{ path: 'source/new/lost', code: 'TARGET' }]);
  expect(result).toMatchObject({ directoriesFailed: 1, filesFailed: 0, filesRestored: 2, directoriesRestored: 5 });
  expect(progress.filesDone).toBe(6);
  const differences = diffTrees(source, join(target, 'source'), { ignore: ['mtimeNs'] });
  expect(differences.filter((line) => !line.startsWith('"new/lost'))).toEqual([]);
});
