import type { Backend } from '../backend/backend.ts';
import { readSurely } from '../backend/sure-reading.ts';
import type { Seals } from '../crypto/seals.ts';
import { CorruptDataError, isAbsent, isDamage } from '../errors.ts';
import { decodeGroupList } from '../format/group-list.ts';
import type { GroupList, GroupListSeals } from '../format/group-list.ts';
import { GROUPS_COPY_NAME, GROUPS_NAME } from '../format/layout.ts';

interface ReadGroupList {
  readonly list: GroupList;
  /** What is wrong with a copy, by its name. */
  readonly problems: ReadonlyMap<string, string>;
}

/** Returns how the list of groups is sealed. Undefined in a plain repository. */
export function groupListSeals(seals: Seals | undefined): GroupListSeals | undefined {
  if (seals?.keys === undefined) return undefined;
  return {
    seal: (digest) => seals.seal('groups', digest),
    verify: (sealed, digest) => {
      if (Buffer.compare(seals.open('groups', sealed), digest) === 0) return;
      throw new CorruptDataError('the list of groups was changed');
    },
  };
}

/**
 * Reads both copies of the list of groups. The one with the larger version counts: a change may have been interrupted
 * between them. Without `seals`, it is not verified that the list was written with the key of the repository.
 * @throws CorruptDataError if there is no usable copy
 */
export async function readGroupList(
  backend: Backend,
  repository: { readonly repositoryId: string; readonly seals: Seals | undefined },
): Promise<ReadGroupList> {
  const { repositoryId, seals } = repository;
  const problems = new Map<string, string>();
  let newest: GroupList | undefined;
  for (const what of [GROUPS_NAME, GROUPS_COPY_NAME]) {
    try {
      const list = await readSurely(backend, what, async (from) =>
        decodeGroupList(await from.read(what), { repositoryId, seals: groupListSeals(seals), what }),
      );
      if (newest === undefined || list.version > newest.version) newest = list;
    } catch (error) {
      if (!isAbsent(error) && !isDamage(error)) throw error;
      problems.set(what, error.message);
    }
  }
  if (newest !== undefined) return { list: newest, problems };
  throw new CorruptDataError(`neither copy of the list of groups can be read: ${[...problems.values()].join('; ')}`, {
    hint: `Restore the file ${GROUPS_NAME} from another copy of ${backend.location}.`,
  });
}
