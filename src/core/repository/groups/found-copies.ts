import type { Backend } from '../../backend/backend.ts';
import { openPlace as openAnyPlace } from '../../backend/place-opener.ts';
import { isNothingThere } from '../../backend/repository-exists.ts';
import { BackendError, RefusedError, isDamage } from '../../errors.ts';
import { decodeGroupList } from '../../format/group-list.ts';
import type { GroupIdentity, StorageGroup } from '../../format/group-list.ts';
import { GROUPS_COPY_NAME, GROUPS_NAME } from '../../format/layout.ts';
import { Group } from '../../groups/group.ts';
import { MetadataCopy } from '../../groups/metadata-copy.ts';
import { readGroupIdentity } from '../../groups/offline-reason.ts';
import type { OpenPlace } from '../../backend/place-opener.ts';
import type { MetadataState } from '../../format/metadata-state.ts';
import { recoveriesIn } from '../../format/recoveries.ts';

/** Copies of the metadata of one repository, in groups. */
export interface FoundCopies {
  readonly repositoryId: string;
  /** The newest state. */
  readonly state: MetadataState;
  /** The copies that make up the newest state: the first file that is sound counts. */
  readonly newest: readonly MetadataCopy[];
  /** The other ones. They may have the same files. */
  readonly older: readonly MetadataCopy[];
  /** The groups of the repository that were not found. A newer state may be there. */
  readonly missing: readonly StorageGroup[];
  /** The groups with a newer state that is damaged, or of the lost place after the repository was made again. */
  readonly leftOut: readonly StorageGroup[];
  /** The number of the newest of all states. */
  readonly lastNumber: number;
  readonly close: () => Promise<void>;
}

/**
 * Finds the copies in these places, and in those of the other groups that they know.
 * @throws RefusedError if one of them is not a group of the same repository as the first, or there is no copy
 */
export async function findCopies(places: readonly string[], openPlace: OpenPlace = openAnyPlace): Promise<FoundCopies> {
  const search = new CopySearch(openPlace);
  try {
    for (const place of places) await search.add(place);
    return await search.finish();
  } catch (error) {
    await search.close();
    throw error;
  }
}

class CopySearch {
  readonly #openPlace: OpenPlace;
  readonly #backends: Backend[] = [];
  readonly #copies = new Map<string, MetadataCopy>();
  #repositoryId: string | undefined;

  constructor(openPlace: OpenPlace) {
    this.#openPlace = openPlace;
  }

  readonly close = async (): Promise<void> => {
    for (const backend of this.#backends) await backend.close();
  };

  async add(place: string): Promise<void> {
    const backend = await this.#open(place);
    const identity = await identityAt(backend);
    this.#repositoryId ??= identity.repositoryId;
    if (identity.repositoryId !== this.#repositoryId)
      throw new RefusedError(`${place} is a group of another repository`, { hint: 'Nothing was changed.' });
    await this.#addCopy(backend, identity);
  }

  /** A newer state may list groups that an older one does not. */
  async finish(): Promise<FoundCopies> {
    const tried = new Set<string>();
    for (;;) {
      const state = this.#newestState();
      const groups = groupsIn(state);
      const others = groups.filter(({ id }) => !this.#copies.has(id) && !tried.has(id));
      if (others.length === 0) return this.#found(state, groups);
      for (const group of others) {
        tried.add(group.id);
        await this.#addListed(group);
      }
    }
  }

  async #addListed({ id, place }: StorageGroup): Promise<void> {
    try {
      const backend = await this.#open(place);
      const identity = await readGroupIdentity(backend);
      if (identity.repositoryId === this.#repositoryId && identity.groupId === id)
        await this.#addCopy(backend, identity);
    } catch (error) {
      if (!(error instanceof BackendError) && !isDamage(error)) throw error;
    }
  }

  async #open(place: string): Promise<Backend> {
    const backend = await this.#openPlace(place);
    this.#backends.push(backend);
    return backend;
  }

  async #addCopy(backend: Backend, { repositoryId, groupId: id, name }: GroupIdentity): Promise<void> {
    const entry: StorageGroup = { name, id, place: backend.location, weight: 1, state: 'active' };
    this.#copies.set(
      id,
      await MetadataCopy.open(new Group(entry, backend, { repositoryId, location: backend.location })),
    );
  }

  #newestState(): MetadataState {
    const states = [...this.#copies.values()].flatMap(({ state }) => state ?? []);
    const state = states.filter(({ repositoryId }) => repositoryId === this.#repositoryId).toSorted(compareStates)[0];
    if (state !== undefined) return state;
    const copies = [...this.#copies.values()];
    const names = copies.map(({ group }) => group.entry.place).join(', ');
    if (copies.some(({ newestNumber }) => newestNumber > 0))
      throw new RefusedError(`the copies of the configuration in ${names} are damaged`, {
        hint: 'Nothing was changed. Name other groups of the repository.',
      });
    throw new RefusedError(`no copy of the configuration, the snapshots and the index is in ${names}`, {
      hint: 'Nothing was changed. Only groups of a repository with two copies or more have them, and only if its creation was completed. Name other groups of it.',
    });
  }

  #found(state: MetadataState, groups: readonly StorageGroup[]): FoundCopies {
    const all = [...this.#copies.values()];
    const newest = all.filter((copy) => copy.state !== undefined && compareStates(copy.state, state) === 0);
    return {
      repositoryId: state.repositoryId,
      state,
      newest,
      older: all.filter((copy) => !newest.includes(copy)),
      missing: groups.filter(({ id }) => !this.#copies.has(id)),
      leftOut: all.filter(({ newestNumber }) => newestNumber > state.number).map(({ group }) => group.entry),
      lastNumber: Math.max(...all.map(({ newestNumber }) => newestNumber)),
      close: this.close,
    };
  }
}

/**
 * The newest first: those of a repository that was made again come before those of the place that was lost, even if that was
 * used later, with other groups; of several, those from which the most recent compaction has removed what it reclaimed. */
function compareStates(a: MetadataState, b: MetadataState): number {
  const recovered = recoveriesIn(b.files).length - recoveriesIn(a.files).length;
  return recovered || b.number - a.number || b.exactNumber - a.exactNumber;
}

async function identityAt(backend: Backend): Promise<GroupIdentity> {
  try {
    return await readGroupIdentity(backend);
  } catch (error) {
    if (!isNothingThere(error)) throw error;
    throw new RefusedError(`there is no group of a repository at ${backend.location}`, {
      hint: 'Nothing was changed. Mount its disk, or name another group.',
    });
  }
}

/** The list is not verified here, which needs a key: every command does that when it opens the repository. */
function groupsIn({ files, repositoryId }: MetadataState): readonly StorageGroup[] {
  const lists = [GROUPS_NAME, GROUPS_COPY_NAME].flatMap((name) => {
    const bytes = files.get(name);
    return bytes === undefined ? [] : [decodeGroupList(bytes, { repositoryId, what: name })];
  });
  return lists.toSorted((a, b) => b.version - a.version)[0]?.groups ?? [];
}
