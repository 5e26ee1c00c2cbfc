import { isDamage } from '../errors.ts';
import type { PackContents } from '../format/pack.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import { snapshotName } from '../format/layout.ts';
import { withoutCondemned } from '../repository/listing.ts';
import type { Repository } from '../repository/repository.ts';
import { findWrongCheckpoints } from './findings/state-comparison.ts';
import type { Finding } from './findings/findings.ts';
import { findDamage } from './findings/damage-findings.ts';
import { PackCheck } from './check/pack-check.ts';
import { packSelector } from './check/pack-selector.ts';
import type { ReadData } from './check/pack-selector.ts';
import { FileSizeCheck } from './findings/file-sizes.ts';
import { SHARED_BLOCK_BYTES, surveyRepository } from './findings/repository-survey.ts';
import type { Survey } from './findings/repository-survey.ts';
import { beginPhase, withRepository } from './context.ts';
import type { OperationContext } from './context.ts';
import type { Notice } from './notices.ts';

export type { AffectedPath, Disagreement, Finding, Impact } from './findings/findings.ts';
export type { PackProblem } from '../store/pack-verifier.ts';

export interface CheckOptions {
  /** Reads every byte of every pack, or of part `part` of `of`. By default only sizes and footers are read. */
  readonly readData?: ReadData;
}

export interface CheckResult {
  readonly findings: readonly Finding[];
  readonly readData: boolean;
  readonly snapshotsChecked: number;
  readonly chunksChecked: number;
  readonly packsChecked: number;
  readonly bytesRead: number;
}

/** Verifies that everything is present and unchanged since it was stored. Changes nothing. */
export async function check(context: OperationContext, options: CheckOptions = {}): Promise<CheckResult> {
  const isRead = packSelector(options.readData);
  const readsData = ({ id }: PackContents): boolean => isRead(id);
  const older: Finding[] = [];
  const onNotice = (notice: Notice): void => {
    if (notice.kind === 'older-state') older.push({ severity: 'warning', ...notice });
    else context.onNotice?.(notice);
  };
  return await withRepository({ ...context, onNotice }, 'read', async (repository) => {
    beginPhase(context.progress, 'checking');
    repository.shareBlocks(SHARED_BLOCK_BYTES);
    // Before the trees are read, so that those in verified packs are read with them.
    const listing = withoutCondemned(await repository.files.listAll());
    const packs = new PackCheck(context, repository.packVerifier(listing.packs), readsData);
    const first = await surveyRepository(repository, listing, isDamage);
    await packs.verify([...first.packs.values()]);
    const opened = await repository.openState();
    const survey = opened.needsCondemned ? await surveyRepository(repository, opened.listing, isDamage) : first;
    const unindexed = await findUnindexedPacks(repository, opened, survey);
    const reports = await packs.verify([...survey.packs.values(), ...unindexed.packs]);
    const sizes = new FileSizeCheck();
    const recounted = await repository.openState({ ignoreCheckpoints: true, onTree: sizes.onTree });
    const findings = [
      ...older,
      ...survey.findings,
      ...unindexed.findings,
      ...lostSegments(opened),
      ...(await lostSnapshots(repository, opened)),
      ...(await findWrongCheckpoints(repository, opened, recounted)),
      ...(await findDamage(recounted, reports)),
      ...(await sizes.findings(recounted)),
    ];
    return {
      findings,
      readData: options.readData !== undefined,
      snapshotsChecked: survey.snapshotCount,
      chunksChecked: recounted.state.filter.liveCount,
      packsChecked: reports.length,
      bytesRead: reports.reduce((total, report) => total + report.bytesRead, 0),
    };
  });
}

/** Finds packs that no readable segment lists. They matter only if a segment is lost, since it may have listed them. */
async function findUnindexedPacks(
  repository: Repository,
  { listing, damage }: OpenedState,
  { findings, packs }: Survey,
): Promise<{ readonly packs: PackContents[]; readonly findings: Finding[] }> {
  const found: { packs: PackContents[]; findings: Finding[] } = { packs: [], findings: [] };
  if (damage.lostSegments.length === 0 && findings.every(({ kind }) => kind !== 'segment-damaged')) return found;
  const unindexed = [...listing.packs].filter(([packId]) => !packs.has(packId));
  const read = async ([packId, sizeBytes]: readonly [string, number]): Promise<PackContents | undefined> =>
    repository.packs.readSoundContents(packId, sizeBytes, isDamage);
  for await (const [[packId], reading] of repository.files.prefetch(unindexed, read)) {
    const pack = await reading;
    if (pack === undefined) found.findings.push(unreadablePack(packId));
    else found.packs.push(pack);
  }
  return found;
}

function unreadablePack(packId: string): Finding {
  const problems = [{ kind: 'footer-unreadable' }] as const;
  return { severity: 'error', kind: 'pack-damaged', packId, problems, impact: undefined };
}

async function lostSnapshots({ files }: Repository, { damage, listing }: OpenedState): Promise<Finding[]> {
  const { snapshotIds } = listing;
  const unknown = [...damage.snapshots.keys()].filter((id) => !snapshotIds.includes(id));
  const findings: Finding[] = [];
  for (const snapshotId of [...damage.lostSnapshots, ...unknown]) {
    // A snapshot that was undeleted between two listings is in neither of them.
    if (await files.exists(snapshotName(snapshotId))) continue;
    const outlook = unknown.includes(snapshotId) ? 'copy-damaged' : 'repairable';
    findings.push({ severity: 'error', kind: 'snapshot-lost', snapshotId, outlook });
  }
  return findings;
}

function lostSegments({ damage }: OpenedState): Finding[] {
  return damage.lostSegments.map((segmentId) => ({ severity: 'error', kind: 'segment-missing', segmentId }));
}
