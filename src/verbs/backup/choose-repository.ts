import { randomInt } from 'node:crypto';
import { BackendError, RepositoryNotFoundError, UsageError } from '../../core/errors.ts';
import { backup } from './backup.ts';
import { BACKUP_KINDS } from './backup-options.ts';
import type { BackupOptions } from './backup-options.ts';
import { assertArgument, assertArguments } from '../../core/session/arguments.ts';
import { contextAt } from '../../core/session/context.ts';
import { withRepository } from '../../core/session/session.ts';
import type { OperationContext, OtherRepository } from '../../core/session/context.ts';

/**
 * How a backup chooses one of several repositories:
 *
 * - `best`: the one that lacks the fewest bytes of the sources, by its filter.
 * - `emptiest`: the one whose files have the fewest bytes in total.
 * - `any`: one at random.
 */
export type RepositoryPolicy = 'best' | 'emptiest' | 'any';

/** A repository that was asked. */
export interface AskedRepository {
  readonly place: string;
  /** Bytes that it lacks, for `best`, or that its files have, for `emptiest`. */
  readonly sizeBytes?: number | undefined;
}

export interface RepositoryChoice {
  readonly chosen: OtherRepository;
  /** Those that can be reached, in the given order. */
  readonly asked: readonly AskedRepository[];
}

type Measure = (context: OperationContext) => Promise<number>;

/**
 * Chooses the repository that gets a backup. Stores nothing. Those that cannot be reached are left out, with a notice;
 * of equal ones, the first is chosen. `best` reads the sources once for each repository, except for files that look
 * unchanged there.
 * @throws UsageError for `best` with a stream, which can be read only once
 * @throws RepositoryNotFoundError, BackendError if none can be reached
 */
export async function chooseRepository(
  context: OperationContext,
  candidates: readonly OtherRepository[],
  policy: RepositoryPolicy,
  options: BackupOptions,
): Promise<RepositoryChoice> {
  assertArguments<BackupOptions>(context, options, BACKUP_KINDS);
  assertArgument('candidates', candidates, 'others!');
  assertArgument('policy', policy, ['best', 'emptiest', 'any']);
  if (policy === 'best' && options.stream !== undefined)
    throw new UsageError('a stream can be read only once, so it cannot be compared with several repositories');
  const measure = measureFor(policy, options);
  const found: { readonly candidate: OtherRepository; readonly sizeBytes: number }[] = [];
  let failure: unknown;
  for (const candidate of candidates) {
    try {
      found.push({ candidate, sizeBytes: await measure(contextAt(context, candidate)) });
    } catch (error) {
      if (!(error instanceof RepositoryNotFoundError || error instanceof BackendError)) throw error;
      failure ??= error;
      context.onNotice?.({ kind: 'candidate-left-out', reason: error.message });
    }
  }
  if (found.length === 0) throw failure;
  const smallest = found.reduce((best, each) => (each.sizeBytes < best.sizeBytes ? each : best));
  const { candidate: chosen } = policy === 'any' ? found[randomInt(found.length)]! : smallest;
  const asked = found.map(({ candidate: { backend }, sizeBytes }) => ({
    place: backend.location,
    sizeBytes: policy === 'any' ? undefined : sizeBytes,
  }));
  return { chosen, asked };
}

function measureFor(policy: RepositoryPolicy, options: BackupOptions): Measure {
  if (policy !== 'best') {
    return async (context) =>
      withRepository(context, 'read', async ({ files }) => (policy === 'any' ? 0 : (await files.measure()).sizeBytes));
  }
  // The backup itself lists the entries, and reports problems of the sources.
  const { onEntry: _, ...others } = options;
  return async ({ onNotice: __, ...context }) => {
    const { summary } = await backup(context, { ...others, dryRun: true });
    return summary.dataAdded;
  };
}
