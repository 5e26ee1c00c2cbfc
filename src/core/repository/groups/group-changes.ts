import { randomBytes } from 'node:crypto';
import type { Backend, Verify } from '../../backend/backend.ts';
import { PLAIN } from '../../crypto/seals.ts';
import type { Seals } from '../../crypto/seals.ts';
import { BackendError, RefusedError, UsageError } from '../../errors.ts';
import { MAX_GROUPS, SINGLE_COPIES, encodeGroupIdentity } from '../../format/group-list.ts';
import { encodeGroupList, isGroupName, isGroupWeight } from '../../format/group-list.ts';
import type { CopyRules, GroupList, StorageGroup } from '../../format/group-list.ts';
import { GROUPS_COPY_NAME, GROUPS_NAME, GROUP_ID_NAME } from '../../format/layout.ts';
import { groupListSeals, readGroupList } from '../../groups/group-list-file.ts';
import { Group } from '../../groups/group.ts';
import { MetadataCopy } from '../../groups/metadata-copy.ts';
import type { OpenPlace } from '../../backend/place-opener.ts';
import { openPlace as openAnyPlace } from '../../backend/place-opener.ts';
import { assertEnoughFor, assertRules } from './copy-rules.ts';
import { DurableOrder } from '../durable-order.ts';
import { OWN_DIRECTORIES, assertEmpty, identityAt, isEmpty, refused } from '../group-place.ts';

/** A group to be added. */
export interface NewGroup {
  readonly name: string;
  readonly place: string;
  /** Default: 1. */
  readonly weight?: number | undefined;
  /** Default: unlimited. */
  readonly capacityBytes?: number | undefined;
}

/** Changes the list of groups of a repository, under an exclusive lock that `verify` verifies. */
export class GroupChanges {
  readonly #backend: Backend;
  readonly #order: DurableOrder;
  readonly #repository: { readonly repositoryId: string; readonly seals: Seals };
  readonly #isSingleWriter: boolean | undefined;
  readonly #verify: Verify;
  readonly #openPlace: OpenPlace;

  constructor(given: {
    readonly backend: Backend;
    readonly repositoryId: string;
    readonly seals: Seals;
    /** Accepts places where several clients cannot exclude each other. */
    readonly isSingleWriter?: boolean | undefined;
    readonly verify: Verify;
    readonly openPlace?: OpenPlace | undefined;
  }) {
    const { backend, seals, openPlace = openAnyPlace } = given;
    this.#backend = backend;
    this.#order = new DurableOrder({ backend, seals });
    this.#repository = given;
    this.#isSingleWriter = given.isSingleWriter;
    this.#verify = given.verify;
    this.#openPlace = openPlace;
  }

  /**
   * Prepares the places of the groups of a new repository, and writes its list of groups. If one of them cannot be used, the
   * others are left as if they had not been named, for another attempt.
   */
  async create(groups: readonly NewGroup[], rules: CopyRules = SINGLE_COPIES): Promise<void> {
    assertRules(rules, groups.length);
    const prepared: StorageGroup[] = [];
    try {
      for (const group of groups) prepared.push(await this.#prepare(group, prepared));
    } catch (error) {
      for (const group of prepared) await this.#removeIdentity(group).catch(() => undefined);
      throw error;
    }
    const { repositoryId } = this.#repository;
    await this.#write({ ...rules, repositoryId, version: 1, groups: prepared });
  }

  /** The place is durable before the list says that it belongs to the repository. */
  async add(group: NewGroup): Promise<StorageGroup> {
    const { list } = await this.#read();
    const prepared = await this.#prepare(group, list.groups).catch(atInitOnly);
    await this.#write({ ...list, version: list.version + 1, groups: [...list.groups, prepared] });
    return prepared;
  }

  /**
   * Sets in how many groups each pack should be. Copies nothing.
   * @throws UsageError if there are fewer groups
   */
  async setRules({ copies, copiesIfRefs }: CopyRules): Promise<void> {
    const { list } = await this.#read();
    assertRules({ copies, copiesIfRefs }, list.groups.length);
    await this.#write({ ...list, version: list.version + 1, copies, copiesIfRefs });
  }

  /** Changes the entry of a group. Returns the new one. */
  async change(name: string, change: Partial<Pick<StorageGroup, 'place' | 'state'>>): Promise<StorageGroup> {
    const { list } = await this.#read();
    const before = findGroup(list, name);
    const after = { ...before, ...change };
    if (change.place !== undefined) await this.#assertIs(after).catch(atInitOnly);
    const groups = list.groups.map((group) => (group === before ? after : group));
    await this.#write({ ...list, version: list.version + 1, groups });
    return after;
  }

  /**
   * Takes a group out of the list. `isEmptied`: then, after `onListed`, nothing there says any more that it is a group.
   * @throws RefusedError if it is the only one
   */
  async remove(name: string, isEmptied: boolean, onListed?: () => Promise<void>): Promise<StorageGroup> {
    const { list } = await this.#read();
    const removed = findGroup(list, name);
    const groups = list.groups.filter((group) => group !== removed);
    if (groups.length === 0) throw new RefusedError(`${name} is the only group`, { advice: { code: 'add-group' } });
    if (isEmptied) assertEnoughFor(list, groups.length);
    await this.#write({ ...list, version: list.version + 1, groups });
    await onListed?.();
    if (isEmptied) await this.#removeIdentity(removed);
    return removed;
  }

  /** Nothing of the repository stays behind: keys that are removed later must not be there. */
  async #removeIdentity(entry: StorageGroup): Promise<void> {
    const backend = await this.#openPlace(entry.place);
    try {
      const known = { repositoryId: this.#repository.repositoryId, location: this.#backend.location };
      await (await MetadataCopy.open(new Group(entry, backend, known))).removeAll();
      await new DurableOrder({ backend, seals: PLAIN }).remove([GROUP_ID_NAME], this.#verify);
    } finally {
      await backend.close();
    }
  }

  async #read(): Promise<{ readonly list: GroupList }> {
    return await readGroupList(this.#backend, this.#repository);
  }

  /** The copy first: whichever of the two an interruption leaves, the newest whole one counts. */
  async #write(list: GroupList): Promise<void> {
    const bytes = encodeGroupList(list, groupListSeals(this.#repository.seals));
    for (const name of [GROUPS_COPY_NAME, GROUPS_NAME]) await this.#order.publishFile(name, bytes, this.#verify);
  }

  /** Makes a place that of a new group. One that was prepared by an interrupted command is taken as it is. */
  async #prepare(given: NewGroup, others: readonly StorageGroup[]): Promise<StorageGroup> {
    const { name, place, weight = 1, capacityBytes } = given;
    assertSettings(given, others);
    const { repositoryId } = this.#repository;
    const backend = await this.#openPlace(place);
    try {
      const known = await identityAt(backend);
      if (known !== undefined && known.repositoryId !== repositoryId)
        throw refused(
          place,
          'it is a group of another repository',
          (await isEmpty(backend)) ? 'remove-empty-group' : 'recover-or-choose-place',
        );
      if (known !== undefined && others.some(({ id }) => id === known.groupId))
        throw refused(place, 'it is a group of this repository already');
      const groupId = known?.groupId ?? randomBytes(16).toString('hex');
      if (known === undefined) await assertEmpty(backend);
      await backend.prepare(OWN_DIRECTORIES, this.#isSingleWriter);
      if (known === undefined) {
        const order = new DurableOrder({ backend, seals: PLAIN });
        await order.publishFile(
          GROUP_ID_NAME,
          encodeGroupIdentity({ repositoryId, groupId, name }),
          this.#verify,
          true,
        );
      }
      return { name, id: groupId, place: backend.location, weight, capacityBytes, state: 'active' };
    } finally {
      await backend.close();
    }
  }

  async #assertIs({ id, place, name }: StorageGroup): Promise<void> {
    const backend = await this.#openPlace(place);
    try {
      const { repositoryId } = this.#repository;
      const known = await identityAt(backend);
      if (known?.repositoryId !== repositoryId || known.groupId !== id)
        throw refused(place, `the group ${name} is not there`);
      await this.#assertUsable(backend);
    } finally {
      await backend.close();
    }
  }

  /** A group may have been copied to another kind of server. Where nothing may be written, only reading matters. */
  async #assertUsable(backend: Backend): Promise<void> {
    try {
      await backend.prepare([], this.#isSingleWriter);
    } catch (error) {
      if (!(error instanceof BackendError) || (error.kind !== 'denied' && error.kind !== 'read-only')) throw error;
    }
  }
}

/** The place was chosen, and may be used only by a repository that was created for it. */
function atInitOnly(error: unknown): never {
  if (!(error instanceof RefusedError) || error.advice?.code !== 'use-single-writer') throw error;
  throw new RefusedError(error.message, { advice: { code: 'use-single-writer-at-init' } });
}

function findGroup({ groups }: GroupList, name: string): StorageGroup {
  const found = groups.find((group) => group.name === name);
  if (found === undefined) throw new UsageError(`there is no group ${name}`, { advice: { code: 'name-group' } });
  return found;
}

function assertSettings({ name, weight = 1, capacityBytes = 1 }: NewGroup, others: readonly StorageGroup[]): void {
  const invalid = (problem: string): never => {
    throw new UsageError(`invalid group ${name}: ${problem}`);
  };
  if (!isGroupName(name)) invalid('a name has 1 to 64 letters, digits, dots, hyphens and underscores');
  if (!isGroupWeight(weight)) invalid(`the weight ${weight} is not above 0 and at most 1000000`);
  if (!Number.isSafeInteger(capacityBytes) || capacityBytes < 1) invalid('its capacity must be above 0');
  if (others.some((other) => other.name === name)) invalid('there is a group of this name');
  if (others.length >= MAX_GROUPS) invalid(`there are ${MAX_GROUPS} groups already`);
}
