import assert from 'node:assert/strict';
import type { Backend, Verify } from '../../backend/backend.ts';
import type { PackHash } from '../../crypto/pack-digest.ts';
import type { Seals } from '../../crypto/seals.ts';
import type { CopyRules } from '../../format/group-list.ts';
import type { Group } from '../../groups/group.ts';
import type { AccessOptions } from '../access.ts';
import type { MetadataCopyState } from './metadata-states.ts';
import type { DamagedMetadata } from '../metadata-verification.ts';
import type { GroupChanges } from './group-changes.ts';
import type { NewerState } from './newer-copies.ts';

/** Where the files of a repository are. */
export interface PlacedPacks {
  readonly backend: Backend;
  /** Undefined if the packs are beside everything else. */
  readonly groups: OpenedGroups | undefined;
  /** Closes what was opened beside the given backend. */
  readonly closePlaced: () => Promise<void>;
}

interface OpenedGroups {
  readonly all: readonly Group[];
  /** In how many of them each pack should be. */
  readonly rules: CopyRules;
  /** How many packs this process has written to fewer groups than wanted so far. */
  shortCount(): number;
  /** By id of a group, whether it has copies of everything small as it is now. */
  readonly metadataStates: () => Promise<ReadonlyMap<string, MetadataCopyState>>;
  /** By name of a group, what its copies have of a newer state than the repository itself. Only groups with something. */
  readonly newerStates: () => Promise<ReadonlyMap<string, NewerState>>;
  /** Verifies the copies of everything small that the repository has, as far as `isRead` says. */
  readonly damagedMetadata: (isRead: (name: string) => boolean) => Promise<DamagedMetadata[]>;
  /** For changes of the list of groups, under an exclusive lock, which `verify` verifies. */
  changes(verify: Verify): Promise<GroupChanges>;
  /**
   * Copies everything small to the groups, if packs have copies: see `copyMetadata`, which says what `exactIn` and `damaged` are. Undefined
   * if nothing is changed in the repository itself.
   */
  readonly copyMetadata:
    | ((verify: Verify, exactIn?: readonly string[], damaged?: readonly DamagedMetadata[]) => Promise<void>)
    | undefined;
}

/** `seals`: undefined if there is no key. */
interface PlacedRepository {
  readonly hasGroups?: boolean | undefined;
  readonly isSingleWriter?: boolean | undefined;
  readonly repositoryId: string;
  readonly packHash: PackHash;
  readonly seals: Seals | undefined;
}

type PlaceOptions = Pick<AccessOptions, 'openPlace' | 'scratchDirectory'>;

/**
 * Opens the groups of a repository that has some. Call it with the lock, if there is one: the list of groups changes only
 * under an exclusive one. Without groups, nothing is loaded or read.
 */
export async function placePacks(
  backend: Backend,
  repository: PlacedRepository,
  options: PlaceOptions = {},
): Promise<PlacedPacks> {
  const placed = await placeInGroups(backend, repository, options);
  if (options.scratchDirectory === undefined) return placed;
  const { ScratchBackend } = await import('../../backend/scratch-backend.ts');
  const scratch = await ScratchBackend.open(placed.backend, options.scratchDirectory);
  const closePlaced = async (): Promise<void> => {
    await scratch.closeScratch();
    await placed.closePlaced();
  };
  const groups = placed.groups && { ...placed.groups, copyMetadata: undefined };
  return { ...placed, groups, backend: scratch, closePlaced };
}

async function placeInGroups(
  backend: Backend,
  repository: PlacedRepository,
  { openPlace }: PlaceOptions,
): Promise<PlacedPacks> {
  if (repository.hasGroups !== true) return { backend, groups: undefined, closePlaced: async () => undefined };
  const { openGroups } = await import('../../groups/open-groups.ts');
  const { backend: grouped, rules } = await openGroups(backend, repository, openPlace);
  const { repositoryId, packHash, seals, isSingleWriter } = repository;
  const changes = async (verify: Verify): Promise<GroupChanges> => {
    assert(seals !== undefined, 'a list of groups is changed with the keys of the repository');
    const { GroupChanges: Changes } = await import('./group-changes.ts');
    return new Changes({ backend, repositoryId, seals, isSingleWriter, verify, openPlace });
  };
  const copyMetadata: OpenedGroups['copyMetadata'] = async (verify, exactIn, damaged) => {
    if (rules.copies === 1 && exactIn === undefined) return;
    if (rules.copies === 1) {
      const { removeMetadata } = await import('./metadata-states.ts');
      // What was copied before is useless once a compaction has removed something that it needs.
      return await removeMetadata(grouped.groups);
    }
    const { copyMetadata: copy } = await import('./metadata-copies.ts');
    await copy({ own: backend, groups: grouped.groups, repositoryId, packHash, seals, verify, exactIn, damaged });
  };
  const newerStates: OpenedGroups['newerStates'] = async () => {
    // Also with one copy: an older state may be from before there were two.
    if (seals === undefined) return new Map();
    const { findNewerStates } = await import('./newer-copies.ts');
    return await findNewerStates({ backend, seals }, grouped.groups);
  };
  const metadataStates = async (): Promise<ReadonlyMap<string, MetadataCopyState>> => {
    const { metadataStates: statesOf } = await import('./metadata-states.ts');
    return await statesOf(backend, grouped.groups);
  };
  const damagedMetadata: OpenedGroups['damagedMetadata'] = async (isRead) => {
    const { findDamagedMetadata } = await import('../metadata-verification.ts');
    return await findDamagedMetadata(backend, grouped.groups, { packHash, isRead });
  };
  const shortCount = (): number => grouped.shortCount;
  const { groups: all } = grouped;
  return {
    backend: grouped,
    groups: { all, rules, shortCount, metadataStates, newerStates, damagedMetadata, changes, copyMetadata },
    closePlaced: async () => grouped.close(),
  };
}
