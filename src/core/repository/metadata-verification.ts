import type { ObjectReader } from '../backend/backend.ts';
import type { PackHash } from '../crypto/pack-digest.ts';
import { BackendError, CorruptDataError, isAbsent, isDamage } from '../errors.ts';
import type { Group } from '../groups/group.ts';
import { MetadataCopy } from '../groups/metadata-copy.ts';
import { assertNamed } from './groups/named-bytes.ts';
import { listMetadata } from './groups/own-metadata.ts';

/** A copy of a small file of the repository, in a group, that differs from what its name says. */
export interface DamagedMetadata {
  readonly group: Group;
  readonly name: string;
  readonly reason: string;
}

/** Verifies the copies of what the repository has. What it lacks, or a group does, is not looked at. */
export async function findDamagedMetadata(
  own: ObjectReader,
  groups: readonly Group[],
  { packHash, isRead }: { readonly packHash: PackHash; readonly isRead: (name: string) => boolean },
): Promise<DamagedMetadata[]> {
  const listed = [...(await listMetadata(own)).values()].flat().map(({ name }) => name);
  const damaged: DamagedMetadata[] = [];
  for (const group of groups.filter(({ isOnline }) => isOnline)) {
    try {
      const copy = await MetadataCopy.open(group);
      for (const name of listed.filter((each) => copy.sizes.has(each) && isRead(each))) {
        const reason = await problemOf(copy, name, packHash);
        if (reason !== undefined) damaged.push({ group, name, reason });
      }
    } catch (error) {
      // The group is offline. What can be written there is another question.
      if (!(error instanceof BackendError) || group.isOnline) throw error;
    }
  }
  return damaged;
}

async function problemOf(copy: MetadataCopy, name: string, packHash: PackHash): Promise<string | undefined> {
  try {
    await copy.read(name, (bytes) => assertNamed(name, bytes, packHash));
    return undefined;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    if (!isDamage(error) || !copy.group.isOnline) throw error;
    return error instanceof CorruptDataError ? 'its digest is wrong' : error.message;
  }
}
