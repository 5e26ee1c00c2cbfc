import { packName, snapshotName } from '../format/layout.ts';
import type { Repository } from '../repository/repository.ts';
import type { PackUsage } from './pack-usage.ts';
import type { CompactionPlan } from './compaction-plan.ts';

/** What is sealed under an earlier master key and can be sealed again. */
export interface EarlierSeals {
  /** Ids. */
  readonly packs: ReadonlySet<string>;
  /** Whether any checkpoint or commit record is. */
  readonly hasDerived: boolean;
}

/** What sealing again did, or would do. */
export interface ResealResult {
  /** False if there is no earlier master key: nothing is to be sealed again. */
  readonly hasEarlierKeys: boolean;
  readonly packs: number;
  /** The size of these packs. */
  readonly packBytes: number;
  /** Snapshots whose manifests are sealed under an earlier master key. They stay so until they are deleted. */
  readonly snapshotsLeft: number;
}

/** Looks at the beginning of each pack, checkpoint and commit record. All envelopes of a pack have the same epoch. */
export async function findEarlierSeals(
  { files }: Repository,
  given: { readonly packIds: Iterable<string>; readonly derived: readonly string[] },
): Promise<EarlierSeals> {
  const packs = new Set(await earlierOf(files, given.packIds, packName));
  const derived = await earlierOf(files, given.derived, (name) => name);
  return { packs, hasDerived: derived.length > 0 };
}

async function earlierOf(
  files: Repository['files'],
  items: Iterable<string>,
  nameOf: (item: string) => string,
): Promise<string[]> {
  const earlier: string[] = [];
  if (!files.hasEarlierKeys) return earlier;
  for await (const [item, isEarlier] of files.prefetch(items, async (one) => files.isSealedEarlier(nameOf(one)))) {
    if (await isEarlier) earlier.push(item);
  }
  return earlier;
}

/** `plans`: what was carried out, or would be. */
export async function describeReseal(
  { files }: Repository,
  rounds: readonly { readonly plan: CompactionPlan; readonly earlier: EarlierSeals }[],
): Promise<ResealResult> {
  const isEarlier = (earlier: EarlierSeals, { pack }: PackUsage): boolean => earlier.packs.has(pack.id);
  const resealed = rounds.flatMap(({ plan, earlier }) => plan.rewritten.filter((usage) => isEarlier(earlier, usage)));
  const snapshots = await earlierOf(files, await files.snapshotIds(), snapshotName);
  return {
    hasEarlierKeys: files.hasEarlierKeys,
    packs: resealed.length,
    packBytes: resealed.reduce((total, { pack }) => total + pack.sizeBytes, 0),
    snapshotsLeft: snapshots.length,
  };
}
