import { randomBytes } from 'node:crypto';
import { baseName, largestOf } from './layout.ts';

const GENERATION_DIGITS = 12;
/** Fewer checkpoints know the same commit records; and builds that counted them from 1 on have not come that far. */
const GENERATIONS_PER_COMMIT = 100_000;

/** `filter/<generation>-<random>`: sorting by name sorts by age, and two processes never choose the same name. */
export function checkpointName(generation: number): string {
  return `filter/${String(generation).padStart(GENERATION_DIGITS, '0')}-${randomBytes(4).toString('hex')}`;
}

/**
 * Returns the name of a checkpoint that is newer than these, and than any that knows fewer commit records than it does: a
 * listing may lack those. `lastCommit`: the number of the newest record that it knows. Under the exclusive lock, it is also
 * newer than those that know the same records. But it must not seem to know the next one, with which a compaction takes the
 * place of all: if this process dies before that, or reclaims nothing, another compaction writes that record, and a listing
 * that lacks this checkpoint makes it stay.
 */
export function newCheckpointName(others: readonly string[], lastCommit: number, isExclusive: boolean): string {
  const generation = (isExclusive ? lastCommit + 0.5 : lastCommit) * GENERATIONS_PER_COMMIT;
  return checkpointName(Math.max(generationAfter(others), generation < 10 ** GENERATION_DIGITS ? generation : 0));
}

/** Returns the number of the newest commit record that a checkpoint knows; undefined if its name does not say that. */
export function commitKnownBy(checkpoint: string): number | undefined {
  const lastCommit = Math.floor(commitsIn(checkpoint));
  return lastCommit > 0 ? lastCommit : undefined;
}

/**
 * Returns whether a checkpoint was written after a record that takes the place of all before it, or right before that, by
 * the compaction that has written both.
 */
export function isAsNewAs(checkpoint: string, wholeCommit: number): boolean {
  return wholeCommit === 0 || Math.round(commitsIn(checkpoint)) >= wholeCommit;
}

function commitsIn(checkpoint: string): number {
  return Number.parseInt(baseName(checkpoint), 10) / GENERATIONS_PER_COMMIT;
}

const CHECKPOINT_NAME = /^filter\/\d{12}-[0-9a-f]{8}$/;

/** Returns whether a name is that of a checkpoint. Other files in `filter/` do not belong to ldm. */
export function isCheckpointName(name: string): boolean {
  return CHECKPOINT_NAME.test(name);
}

/** Returns the generation after the newest of these checkpoints. */
export function generationAfter(names: readonly string[]): number {
  const generations = names.map((name) => Number.parseInt(baseName(name), 10));
  return largestOf(generations.filter((generation) => Number.isSafeInteger(generation))) + 1;
}
