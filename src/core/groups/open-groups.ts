import type { Backend } from '../backend/backend.ts';
import { openPlace as openAnyPlace } from '../backend/place-opener.ts';
import type { OpenPlace } from '../backend/place-opener.ts';
import type { Seals } from '../crypto/seals.ts';
import type { CopyRules } from '../format/group-list.ts';
import { Group } from './group.ts';
import { readGroupList } from './group-list-file.ts';
import { GroupedBackend } from './grouped-backend.ts';

/** Returns a backend for a repository with groups. Which of them are offline is found out before anything is read. */
export async function openGroups(
  metadata: Backend,
  repository: { readonly repositoryId: string; readonly seals: Seals | undefined },
  openPlace: OpenPlace = openAnyPlace,
): Promise<{ readonly backend: GroupedBackend; readonly rules: CopyRules }> {
  const { list } = await readGroupList(metadata, repository);
  const { repositoryId } = repository;
  const groups: Group[] = [];
  for (const entry of list.groups) {
    groups.push(new Group(entry, await openPlace(entry.place), { repositoryId, location: metadata.location }));
  }
  // All at once: a server that does not answer takes a minute.
  await Promise.all(groups.map(async (group) => group.verify()));
  return { backend: new GroupedBackend(metadata, groups, list.copies), rules: list };
}
