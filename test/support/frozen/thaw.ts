import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { check } from '../../../src/verbs/check/check.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { listGroups, setGroupPlace } from '../../../src/verbs/group/groups.ts';
import { joinRealm } from '../../../src/realm/verbs/realm/join.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import type { SnapshotListing } from '../../../src/verbs/snapshots/snapshots.ts';
import { TaskPool } from '../../../src/core/workers/task-pool.ts';
import { diffTrees } from '../compare-trees.ts';
import { memoryDirectory } from '../temp-directory.ts';
import { testPassword } from '../test-password.ts';
import { copyFrozen, expectedTree, readManifest } from './frozen-repository.ts';
import type { FrozenContents } from './frozen-repository.ts';

/** No threads: the work of a few kilobytes takes less time than a message. */
const threads = new TaskPool({ threadCount: 0 });

/** A copy of a frozen repository. */
export interface Thawed {
  /** Of the copy of the fixture. */
  readonly directory: string;
  readonly contents: FrozenContents;
  readonly context: OperationContext & { readonly backend: LocalBackend };
}

/** Copies a fixture, and returns its repositories by their directories in it. Nothing knows that they have moved. */
export function thaw(name: string): Record<string, Thawed> {
  const directory = memoryDirectory();
  copyFrozen(name, directory);
  const { password, repositories } = readManifest(name);
  const given = password === undefined ? {} : { password: testPassword(password) };
  const repository = ([part, contents]: [string, FrozenContents]): [string, Thawed] => {
    const backend = new LocalBackend(join(directory, part));
    return [part, { directory, contents, context: { backend, threads, ...given } }];
  };
  return Object.fromEntries(Object.entries(repositories).map(repository));
}

/** Records that everything is in the copy now, as whoever has moved it would. */
export async function settle(repositories: Record<string, Thawed>): Promise<void> {
  for (const { directory, context } of Object.values(repositories)) {
    const coordinator = join(directory, 'coordinator');
    if (existsSync(coordinator)) await joinRealm(context, { coordinator, isMoved: true });
    if (!existsSync(join(context.backend.location, 'groups'))) continue;
    for (const { name } of (await listGroups(context)).groups)
      await setGroupPlace(context, name, join(directory, name));
  }
}

export async function settled(name: string): Promise<Record<string, Thawed>> {
  const repositories = thaw(name);
  await settle(repositories);
  return repositories;
}

/** One repository of a fixture, in a copy that knows where it is. */
export async function repositoryIn(name: string, part = '.'): Promise<Thawed> {
  return (await settled(name))[part]!;
}

/** What the snapshots that are not deleted have, the oldest first. */
export function treesOf({ contents }: Thawed): [id: string, tree: FrozenContents['snapshots'][string]][] {
  return Object.entries(contents.snapshots);
}

/** Takes away the directory of a repository or of a group; the function that comes back brings it back. */
export function hide({ directory }: Thawed, name: string): () => void {
  const place = join(directory, name);
  renameSync(place, `${place}-away`);
  return () => renameSync(`${place}-away`, place);
}

export async function expectClean({ context }: Pick<Thawed, 'context'>): Promise<void> {
  const { findings } = await check(context, { readData: true });
  // Earlier builds wrote no copies of the metadata into groups that are read-only; the next change of anything does.
  expect(findings.filter(({ kind }) => kind !== 'metadata-outdated')).toEqual([]);
}

/** Without holds. */
export async function backupsIn({ context }: Pick<Thawed, 'context'>, deleted = false): Promise<SnapshotListing[]> {
  const listings = await listSnapshots(context, { deleted });
  return listings.filter(({ snapshot }) => snapshot.hold === undefined);
}

/** Fails unless the snapshot gives back what `expected` says, a directory or a tree of a manifest. Returns where it is. */
export async function expectTree(
  { context }: Pick<Thawed, 'context'>,
  selector: string,
  expected: string | FrozenContents['snapshots'][string],
): Promise<string> {
  const target = memoryDirectory();
  expect((await restore(context, { selector, target })).problems).toEqual([]);
  const tree = typeof expected === 'string' ? expected : expectedTree(expected);
  expect(diffTrees(tree, target, { ignore: ['uid', 'gid'], ignoreRoot: true })).toEqual([]);
  return target;
}
