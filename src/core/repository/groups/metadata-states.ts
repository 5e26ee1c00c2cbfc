import type { Backend } from '../../backend/backend.ts';
import type { PackHash } from '../../crypto/pack-digest.ts';
import { RECOVERIES_NAME, isCommitName } from '../../format/layout.ts';
import type { Group } from '../../groups/group.ts';
import { MetadataCopy } from '../../groups/metadata-copy.ts';
import { openCopies, unlessItFails } from './opened-copies.ts';
import { otherRecordsIn } from './named-bytes.ts';
import { areSameFiles, listMetadata, readChangeable } from './own-metadata.ts';

/** Whether a group has copies of everything, or lacks something, or has none. */
export type MetadataCopyState = 'current' | 'outdated' | 'none';

/**
 * How many commit records are compared by their content: the newest. Two states of a repository that have parted have
 * different ones from some number on. `check` compares all.
 */
const COMPARED_RECORDS = 16;

/** By id, of those that can be reached. `own`: the place of the repository, without its groups. */
export async function metadataStates(
  own: Backend,
  groups: readonly Group[],
  packHash: PackHash,
): Promise<Map<string, MetadataCopyState>> {
  const files = await readChangeable(own);
  const listed = [...(await listMetadata(own)).values()].flat();
  const records = listed.map(({ name }) => name).filter((name) => isCommitName(name));
  const compared = records.toSorted().slice(-COMPARED_RECORDS);
  const copies = await openCopies(groups);
  const stateOf = async (copy: MetadataCopy): Promise<MetadataCopyState> => {
    const { state, sizes, newestNumber } = copy;
    if (newestNumber === 0) return 'none';
    const isCurrent = state !== undefined && areSameFiles(withoutRecoveries(state.files), withoutRecoveries(files));
    if (!isCurrent || !listed.every(({ name, sizeBytes }) => sizes.get(name) === sizeBytes)) return 'outdated';
    const others = await unlessItFails(copy.group, async () => otherRecordsIn(copy, { own, packHash }, compared));
    return others === undefined || others.length === 0 ? 'current' : 'outdated';
  };
  const states = await Promise.all(copies.map(async (copy) => [copy.group.id, await stateOf(copy)] as const));
  return new Map(states);
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
