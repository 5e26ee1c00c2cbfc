import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import type { Backend } from '../../src/core/backend/backend.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { listFiles } from '../../src/verbs/ls/ls.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { showSnapshot } from '../../src/verbs/snapshots/snapshots.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';

const READERS: Readonly<Record<string, (context: OperationContext, target: string) => Promise<unknown>>> = {
  ls: async (context) => listFiles(context, { selector: 'latest', recursive: true }, () => undefined),
  show: async (context) => showSnapshot(context, { selector: 'latest' }),
  restore: async (context, target) => restore(context, { selector: 'latest', target }),
};

const WRITERS: Readonly<Record<string, (repository: TestRepository) => Promise<void>>> = {
  'is made': async (repository) => void (await repository.backup()),
  'is made and deleted': async (repository) => {
    const { snapshotId } = await repository.backup();
    await deleteSnapshots(repository.context, { selectors: [snapshotId!], reclaim: false });
  },
};

/** Does something right before a directory is listed for the first time. */
function interrupted(
  inner: Backend,
  directory: string,
  meanwhile: () => Promise<void>,
): { backend: Backend; hasFired: () => boolean } {
  let hasFired = false;
  const backend = new Proxy(inner, {
    get: (target, key) => {
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== 'function') return member;
      return async (...given: unknown[]) => {
        if (!hasFired && (key === 'list' || key === 'listNames') && given[0] === directory) {
          hasFired = true;
          await meanwhile();
        }
        return (await Reflect.apply(member, target, given)) as unknown;
      };
    },
  });
  return { backend, hasFired: () => hasFired };
}

describe.each(Object.keys(READERS))('%s', (reader) => {
  describe.each(Object.keys(WRITERS))('does not take a snapshot for lost that %s', (writer) => {
    it.each(['snapshots', 'filter', 'index'])('right before the listing of %s', async (directory) => {
      const repository = await makeTestRepository();
      writeFileSync(join(repository.source, 'one'), '1');
      await repository.backup();
      writeFileSync(join(repository.source, 'two'), '2');
      const meanwhile = async (): Promise<void> => WRITERS[writer]!(repository);
      const { backend, hasFired } = interrupted(repository.context.backend, directory, meanwhile);
      await READERS[reader]!({ ...repository.context, backend }, join(repository.directory, 'restored'));
      expect(hasFired()).toBe(true);
    });
  });
});
