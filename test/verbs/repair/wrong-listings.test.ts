import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import type { BackendFile } from '../../../src/core/backend/backend.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

/** Gives one name in every listing a wrong character at its end. */
class WrongName extends FaultyBackend {
  readonly #id: string;
  readonly #last: (directory: string) => string;

  constructor(inner: FaultyBackend['inner'], id: string, last: (directory: string) => string) {
    super(inner);
    this.#id = id;
    this.#last = last;
  }

  override async list(directory: string): Promise<BackendFile[]> {
    const files = await super.list(directory);
    return files.map((file) =>
      file.name.endsWith(this.#id) ? { ...file, name: file.name.slice(0, -1) + this.#last(directory) } : file,
    );
  }
}

async function makeTwo(): Promise<{ readonly repository: TestRepository; readonly ids: readonly string[] }> {
  const repository = await makeTestRepository();
  const ids: string[] = [];
  for (const day of [1, 2]) {
    writeFileSync(join(repository.source, 'file'), `day ${day}`);
    ids.push((await repository.backup({ time: `2020-01-0${day}T00:00:00Z` })).snapshotId!);
  }
  return { repository, ids };
}

/** Another hex digit, one for each directory or the same for all, and a character that is none. */
const WRONG: Readonly<Record<string, (id: string, directory: string) => string>> = {
  'the same name': (id) => (id.endsWith('0') ? '1' : '0'),
  'two names': (id, directory) => '0123'.replace(id.at(-1)!, '')[directory === 'snapshots' ? 0 : 1]!,
  'a name that is none of ours': () => 'q',
};

test.each(Object.keys(WRONG))('latest is the newest snapshot although all listings have %s for it', async (name) => {
  const { repository, ids } = await makeTwo();
  const newest = ids[1]!;
  const { backend: inner } = repository.context;
  const backend = new WrongName(inner, newest, (directory) => WRONG[name]!(newest, directory));
  const context: OperationContext = { ...repository.context, backend };
  const target = join(repository.directory, 'restored');
  expect((await restore(context, { selector: 'latest', target })).snapshotId).toBe(newest);
  const { snapshots } = await deleteSnapshots(context, { selectors: ['latest'] });
  expect(snapshots.map(({ id }) => id)).toEqual([newest]);
  // No copy of the manifest is left, which would make the snapshot look lost.
  await repository.expectClean();
});
