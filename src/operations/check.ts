import { UsageError, isDamage } from '../errors.ts';
import type { PackContents } from '../format/pack.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import { packName, segmentName, snapshotName } from '../format/layout.ts';
import type { Repository } from '../repository/repository.ts';
import { mapConcurrently } from '../util/map-concurrently.ts';
import { findWrongCheckpoints } from './check/checkpoint-comparison.ts';
import type { Finding } from './check/findings.ts';
import { findDamage } from './check/damage-findings.ts';
import { FileSizeCheck } from './check/file-sizes.ts';
import type { PackReport, PackVerifier } from '../store/pack-verifier.ts';
import { surveyRepository } from './check/repository-survey.ts';
import type { Survey } from './check/repository-survey.ts';
import { Pacer, beginPhase, withRepository } from './context.ts';
import type { OperationContext } from './context.ts';

export type { AffectedPath, Finding } from './check/findings.ts';

export interface CheckOptions {
  /** Reads every byte of every pack, or of part `part` of `of`. By default only sizes and footers are read. */
  readonly readData?: true | { readonly part: number; readonly of: number };
}

export interface CheckResult {
  readonly findings: readonly Finding[];
  readonly readData: boolean;
  readonly snapshotsChecked: number;
  readonly chunksChecked: number;
  readonly packsChecked: number;
  readonly bytesRead: number;
  /** 4 if anything is wrong. */
  readonly exitCode: 0 | 4;
}

/** Packs verified at a time: one is read while another is hashed. */
const PACKS_AT_ONCE = 2;

/** Verifies that everything is present and unchanged since it was stored. Changes nothing. */
export async function check(context: OperationContext, options: CheckOptions = {}): Promise<CheckResult> {
  const selects = packSelector(options.readData);
  return await withRepository(context, 'read', async (repository) => {
    const opened = await repository.openState();
    beginPhase(context.progress, 'checking');
    const survey = await surveyRepository(repository, opened.listing, isDamage);
    const unnamed = await findUnnamedPacks(repository, opened, survey);
    const packs = [...survey.packs.values(), ...unnamed.packs];
    const verifier = repository.packs.createVerifier(opened.listing.packs);
    const reports = await verifyPacks(context, verifier, packs, selects);
    const sizes = new FileSizeCheck();
    const recounted = await repository.openState({ ignoreCheckpoints: true, onTree: sizes.onTree });
    const findings = [
      ...survey.findings,
      ...unnamed.findings,
      ...lostSegments(opened),
      ...(await lostSnapshots(repository, opened)),
      ...(await wrongCounts(repository, opened, recounted)),
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
      exitCode: findings.some(({ severity }) => severity === 'error') ? 4 : 0,
    };
  });
}

/** Finds packs that no readable segment lists. They matter only if a segment is lost, since it may have listed them. */
async function findUnnamedPacks(
  repository: Repository,
  { listing, lostSegments: lost }: OpenedState,
  { findings, packs }: Survey,
): Promise<{ readonly packs: PackContents[]; readonly findings: Finding[] }> {
  const found: { packs: PackContents[]; findings: Finding[] } = { packs: [], findings: [] };
  if (lost.length === 0 && findings.every(({ kind }) => kind !== 'segment-damaged')) return found;
  for (const id of listing.packs.keys()) {
    if (packs.has(id)) continue;
    const pack = await repository.packs.readSoundContents(id, isDamage);
    if (pack !== undefined) found.packs.push(pack);
    else {
      const message = 'its footer cannot be read, and no readable segment lists it';
      found.findings.push({ severity: 'error', kind: 'pack-damaged', file: packName(id), message });
    }
  }
  return found;
}

/** Returns which packs are read completely. The id decides, so a pack stays in its part when others come and go. */
function packSelector(readData: CheckOptions['readData']): (pack: PackContents) => boolean {
  if (readData === undefined || readData === true) return () => readData === true;
  const { part, of } = readData;
  if (!Number.isInteger(part) || !Number.isInteger(of) || part < 1 || part > of) {
    throw new UsageError(`part ${part}/${of} does not exist`, { hint: 'Give n/m with 1 <= n <= m, such as 1/7.' });
  }
  return ({ id }) => Number.parseInt(id.slice(0, 12), 16) % of === part - 1;
}

async function verifyPacks(
  context: OperationContext,
  verifier: PackVerifier,
  packs: readonly PackContents[],
  selects: (pack: PackContents) => boolean,
): Promise<PackReport[]> {
  const pacer = new Pacer(context);
  const { progress } = context;
  if (progress !== undefined) {
    progress.unit = 'pack';
    progress.filesTotal = packs.length;
    progress.bytesTotal = packs.filter(selects).reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  }
  return await mapConcurrently(packs, PACKS_AT_ONCE, async (pack) => {
    await pacer.pause();
    const report = selects(pack) ? await verifier.verifyData(pack) : await verifier.verifyStructure(pack);
    if (progress !== undefined) {
      progress.filesDone += 1;
      progress.bytesDone += report.bytesRead;
    }
    return report;
  });
}

async function lostSnapshots({ files }: Repository, opened: OpenedState): Promise<Finding[]> {
  const { snapshotIds } = opened.listing;
  const unknown = [...opened.damagedSnapshots.keys()].filter((id) => !snapshotIds.includes(id));
  const findings: Finding[] = [];
  for (const id of [...opened.lostSnapshots, ...unknown]) {
    const file = snapshotName(id);
    // A snapshot that was undeleted between two listings is in neither of them.
    if (await files.exists(file)) continue;
    const outlook = unknown.includes(id) ? 'its copy is damaged as well' : '`ldm repair` can restore it';
    const message = `the manifest is missing although the snapshot was not deleted; ${outlook}`;
    findings.push({ severity: 'error', kind: 'snapshot-lost', file, message, snapshots: [id] });
  }
  return findings;
}

function lostSegments({ lostSegments: ids }: OpenedState): Finding[] {
  return ids.map((id) => ({
    severity: 'error',
    kind: 'segment-missing',
    file: segmentName(id),
    message: 'missing; `ldm repair` rebuilds it from the packs',
  }));
}

async function wrongCounts(repository: Repository, opened: OpenedState, recounted: OpenedState): Promise<Finding[]> {
  const wrong = await findWrongCheckpoints(repository, opened, recounted);
  return [...wrong].map(([file, message]) => ({ severity: 'error', kind: 'reference-count', file, message }));
}
