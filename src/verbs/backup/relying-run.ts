import { Pacer } from '../../core/util/pacer.ts';
import { NotKeptError, extension } from '../../core/session/extension.ts';
import type { OpenedLender } from '../../core/session/extension.ts';
import { BackupRun } from './backup-run.ts';
import type { BackupRunOptions, StoredSources } from './backup-run.ts';
import { lendersOf } from '../../core/saving/commit-snapshots.ts';
import { unreliablePackIds } from '../../core/saving/relied-packs.ts';
import { ReusedSample } from '../../core/saving/reused-sample.ts';
import type { VerifiedReuse } from '../../core/saving/reused-sample.ts';

type Given = Omit<BackupRunOptions, 'lender' | 'unreliable'> & {
  readonly problems: unknown[];
  /** Packs with wrong chunks. */
  readonly wrongPacks?: ReadonlySet<string>;
};

type Verified = Omit<BackupRunOptions, 'lender'> & Given;

/**
 * Stores the sources. With `reliesOn`, a domain of the realm keeps what it has of them; a dry run only asks what it has. If
 * it does not keep everything that it had, or cannot be asked any more, all is read again and stored here: what it had is
 * not in memory any more.
 */
async function storeRelying(asked: Given): Promise<StoredSources> {
  const { context, repository, options } = asked;
  const known = await unreliablePackIds(context, repository, asked.opened, options.force !== true);
  const unreliable = new Set([...known, ...(asked.wrongPacks ?? [])]);
  const given = { ...asked, unreliable };
  const { reliesOn } = options;
  const plannedCount = asked.problems.length;
  if (reliesOn === undefined) return await withReliance(given, undefined);
  const lender = await extension().openLender(context, repository, reliesOn);
  if (lender === undefined) return await withReliance(given, undefined);
  try {
    return await withReliance(given, lender);
  } catch (error) {
    if (!(error instanceof NotKeptError)) throw error;
    context.onNotice?.({ kind: 'chunks-not-kept', domain: lender.lender.name });
    // Those of files are found again.
    given.problems.length = plannedCount;
    return await withReliance(given, undefined);
  } finally {
    await lender.close();
  }
}

interface VerifiedSources extends StoredSources {
  /** Undefined if that was not asked for. */
  readonly verified: VerifiedReuse | undefined;
}

/**
 * Stores the sources, and verifies some of the chunks that were not stored because the repository has them. An attacker
 * who can add packs may have stored other bytes under their ids. If one is wrong, the sources are stored again without
 * relying on the packs with wrong chunks: that reads only the files that need those packs.
 */
export async function storeVerified(asked: Given): Promise<VerifiedSources> {
  const { context, options, opened } = asked;
  if (options.verifyReused === undefined) return { ...(await storeRelying(asked)), verified: undefined };
  const sample = new ReusedSample(options.verifyReused);
  const plannedCount = asked.problems.length;
  const stored = await storeRelying({ ...asked, sample });
  const verified = await sample.verify(opened, new Pacer(context));
  const { wrongCount, exampleId, packIds } = verified;
  if (exampleId === undefined) return { ...stored, verified };
  const isStored = options.dryRun !== true;
  context.onNotice?.({ kind: 'reused-wrong', chunkCount: wrongCount, exampleId, isStored });
  if (!isStored) return { ...stored, verified };
  // Those of files are found again.
  asked.problems.length = plannedCount;
  return { ...(await storeRelying({ ...asked, wrongPacks: packIds })), verified };
}

/** The manifest names the domains on which the snapshot relies, those of earlier backups too. */
async function withReliance(given: Verified, lender: OpenedLender | undefined): Promise<StoredSources> {
  const stored = await new BackupRun({ ...given, lender }).store();
  const { chunks, snapshot } = stored;
  const borrowed = chunks.borrowed.chunks > 0 ? [lender!.lender] : [];
  const reliesOn = await lendersOf(given.repository, chunks, borrowed);
  return reliesOn.length === 0 ? stored : { ...stored, snapshot: { ...snapshot, reliesOn } };
}
