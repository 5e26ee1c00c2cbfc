import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { expect, test } from 'vitest';

import { openDirectoryPath } from '../../../src/core/files/paths/directory-path.ts';
import type { DirectoryPath } from '../../../src/core/files/paths/directory-path.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import type { StartedTask, TaskPool } from '../../../src/core/workers/task-pool.ts';
import { diffTrees } from '../../support/compare-trees.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import { threadsOfTests } from '../../support/test-threads.ts';

const DIRECTORY_COUNT = 300;
/** More than a restore holds open before it closes some. */
const HELD_COUNT = 200;

/** As another restore in the same process would do at any time. */
function holdMany(path: string): DirectoryPath[] {
  const hold = (): DirectoryPath => openDirectoryPath(byteStringFromText(path), { side: 'target', hold: 'always' });
  return Array.from({ length: HELD_COUNT }, hold);
}

function identityOf(path: string): string {
  const { dev, ino } = statSync(dirname(path), { bigint: true });
  return `${dev}:${ino}`;
}

test('a directory is not closed while a thread uses it, whatever else in the process opens directories', async () => {
  const repository = await makeTestRepository();
  const { source, directory } = repository;
  const target = join(directory, 'target');
  for (let index = 0; index < DIRECTORY_COUNT; index += 1) {
    mkdirSync(join(source, `in/d${index}`), { recursive: true });
    for (const name of ['a', 'b', 'c', 'd']) writeFileSync(join(source, `in/d${index}`, name), `${index}${name}`);
  }
  await repository.backup();

  const pool = threadsOfTests();
  let held: DirectoryPath[] = [];
  let resultCount = 0;
  const writeFiles: TaskPool['writeFiles'] = (files, paths, bytes, policy): StartedTask<Uint8Array> => {
    const identities = paths.map(identityOf);
    // The thread only starts when its result is awaited, with the directories that it was given.
    const result = async (): Promise<Uint8Array> => {
      expect(paths.map(identityOf)).toEqual(identities);
      const isWritten = await pool.writeFiles(files, paths, bytes, policy).result();
      resultCount += 1;
      if (held.length === 0) held = holdMany(directory);
      else for (const other of held.splice(0)) other.close();
      return isWritten;
    };
    return { result, drop: async () => undefined };
  };
  const threads = new Proxy(pool, {
    get: (_, name): unknown => {
      if (name === 'writeFiles') return writeFiles;
      const value: unknown = Reflect.get(pool, name, pool);
      return typeof value === 'function' ? (value.bind(pool) as unknown) : value;
    },
  });
  const result = await restore({ ...repository.context, threads }, { selector: 'latest', target });
  for (const other of held) other.close();
  expect(resultCount).toBeGreaterThan(10);
  expect(result.filesRestored).toBe(4 * DIRECTORY_COUNT);
  expect(diffTrees(source, join(target, 'source'))).toEqual([]);
});
