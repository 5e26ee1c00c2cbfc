import { BackendError } from '../../errors.ts';
import type { Group } from '../../groups/group.ts';
import { MetadataCopy } from '../../groups/metadata-copy.ts';
import { mapConcurrently } from '../../util/map-concurrently.ts';

/** Opens the copies in the groups that can be reached. */
export async function openCopies(groups: readonly Group[]): Promise<MetadataCopy[]> {
  const online = groups.filter(({ isOnline }) => isOnline);
  const opened = await mapConcurrently(online, Math.max(1, online.length), async (group) =>
    unlessItFails(group, async () => MetadataCopy.open(group)),
  );
  return opened.filter((copy) => copy !== undefined);
}

/** A failure of the repository itself fails the command; one of a group is reported with the group. */
export async function unlessItFails<T>(group: Group, action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof BackendError)) throw error;
    if (group.isOnline) group.writeFailure ??= error.message;
    return undefined;
  }
}
