import type { ObjectReader } from '../../backend/backend.ts';
import { RECOVERIES_NAME } from '../../format/layout.ts';
import type { Group } from '../../groups/group.ts';
import { MetadataCopy } from '../../groups/metadata-copy.ts';
import { openCopies, unlessItFails } from './opened-copies.ts';
import { areSameFiles, listMetadata, readChangeable } from './own-metadata.ts';

/** Whether a group has copies of everything, or lacks something, or has none. */
export type MetadataCopyState = 'current' | 'outdated' | 'none';

/** By id, of those that can be reached. `own`: the place of the repository, without its groups. */
export async function metadataStates(
  own: ObjectReader,
  groups: readonly Group[],
): Promise<Map<string, MetadataCopyState>> {
  const files = await readChangeable(own);
  const listed = [...(await listMetadata(own)).values()].flat();
  const copies = await openCopies(groups);
  const stateOf = ({ state, sizes, newestNumber }: MetadataCopy): MetadataCopyState => {
    if (newestNumber === 0) return 'none';
    const isCurrent = state !== undefined && areSameFiles(withoutRecoveries(state.files), withoutRecoveries(files));
    return isCurrent && listed.every(({ name, sizeBytes }) => sizes.get(name) === sizeBytes) ? 'current' : 'outdated';
  };
  return new Map(copies.map((copy) => [copy.group.id, stateOf(copy)]));
}

/** What a repository was just made again from is not outdated. */
function withoutRecoveries(files: ReadonlyMap<string, Uint8Array>): Map<string, Uint8Array> {
  return new Map([...files].filter(([name]) => name !== RECOVERIES_NAME));
}

/** Removes what was copied to the groups that can be reached. */
export async function removeMetadata(groups: readonly Group[]): Promise<void> {
  for (const group of groups.filter(({ isOnline }) => isOnline))
    await unlessItFails(group, async () => (await MetadataCopy.open(group)).removeAll());
}
