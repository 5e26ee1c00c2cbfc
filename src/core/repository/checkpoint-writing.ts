import type { Verify } from '../backend/backend.ts';
import { RefusedError } from '../errors.ts';
import { newCheckpointName } from '../format/checkpoint-name.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import { writeImage } from '../ldm/image-writer.ts';
import { bothOf } from '../util/map-concurrently.ts';
import { unlessDenied } from './locks/lock-conflict.ts';
import type { CommitRecords } from './commit-records.ts';
import type { DurableOrder } from './durable-order.ts';
import type { RepositoryFiles } from './repository-files.ts';

/** Two, so that a damaged one costs a longer fold and not a rebuild. */
const CHECKPOINTS_KEPT = 2;

/** The checkpoints that are there, and what is verified before and after a new one gets its name. */
export interface CheckpointOptions {
  /** Default: they are listed. */
  readonly listed?: readonly string[] | undefined;
  /** Those that the caller removes later. */
  readonly leaving?: readonly string[];
  /** Default: the lock. */
  readonly verify?: Verify;
}

interface Place {
  readonly order: DurableOrder;
  readonly files: RepositoryFiles;
  readonly commits: CommitRecords;
  readonly assertLocked: Verify;
}

/**
 * Writes a checkpoint of a complete state, and removes all but the newest two if it may. Returns its name. On another
 * machine, it is written while the others are listed: it gets its name last.
 */
export async function writeCheckpoint(
  { order, files, commits, assertLocked }: Place,
  state: FilterState,
  { listed, leaving = [], verify = assertLocked, isExclusive }: CheckpointOptions & { readonly isExclusive: boolean },
): Promise<string> {
  if (!state.isComplete) throw new RefusedError('an incomplete filter state cannot be a checkpoint');
  const list = async (): Promise<string[]> => (await files.list('filter')).map(({ name }) => name);
  const naming = bothOf(listed === undefined ? list() : Promise.resolve(listed), commits.findLast()).then(
    ([others, { last }]) => {
      const existing = others.toSorted();
      return { existing, name: newCheckpointName(existing, last, isExclusive) };
    },
  );
  naming.catch(() => undefined);
  if (!order.isFar) await naming;
  const nameOf = naming.then(({ name }) => name);
  await order.publishCheckpoint(nameOf, async (append) => writeImage(state, append), verify);
  const { existing, name } = await naming;
  const old = existing.slice(0, -CHECKPOINTS_KEPT + 1).filter((each) => !leaving.includes(each));
  await order.remove(old).catch(unlessDenied);
  return name;
}
