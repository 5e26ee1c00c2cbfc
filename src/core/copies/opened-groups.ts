import assert from 'node:assert/strict';
import { RefusedError, UsageError } from '../errors.ts';
import { packName, parseCopyAddress } from '../format/layout.ts';
import type { GroupChanges } from '../repository/groups/group-changes.ts';
import type { Repository } from '../repository/repository.ts';
import { waitingContext } from '../session/context.ts';
import { withRepository } from '../session/session.ts';
import { assertContext } from '../session/arguments.ts';
import type { OperationContext } from '../session/context.ts';

type OpenedGroups = NonNullable<Repository['groups']>;
export type OpenedGroup = OpenedGroups['all'][number];

/** @throws RefusedError if the repository has no groups */
export function groupsOf({ groups }: Repository): OpenedGroups {
  if (groups !== undefined) return groups;
  throw new RefusedError('this repository has no groups', { advice: { code: 'copy-to-groups' } });
}

/** @throws UsageError */
export function findGroup(repository: Repository, name: string): OpenedGroup {
  const found = groupsOf(repository).all.find(({ entry }) => entry.name === name);
  if (found !== undefined) return found;
  throw new UsageError(`there is no group ${name}`, { advice: { code: 'name-group' } });
}

/** Changes the list of groups. */
export async function changeGroups<T>(
  context: OperationContext,
  work: (changes: GroupChanges, repository: Repository) => Promise<T>,
): Promise<T> {
  assertContext(context);
  return await withRepository(waitingContext(context), 'exclusive', async (repository) =>
    work(await groupsOf(repository).changes(repository.assertLocked), repository),
  );
}

/** Returns the name of the group with a copy of a pack. `copyId`: from `PackStore.copyIdsOf`. */
export function groupNameOf({ all }: Pick<OpenedGroups, 'all'>, copyId: string): string {
  const address = parseCopyAddress(packName(copyId));
  const found = all.find(({ id }) => id === address?.groupId);
  assert(found !== undefined, `${copyId} is in a group of this repository`);
  return found.entry.name;
}
