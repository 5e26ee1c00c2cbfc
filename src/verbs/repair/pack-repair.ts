import { segmentName } from '../../core/format/layout.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { damagedNames } from '../../core/session/findings.ts';
import type { Finding } from '../../core/session/findings.ts';
import { Removal, discardCopies, quarantinePack } from '../../core/removing/removal.ts';
import type { PackSurvey } from './pack-survey.ts';
import { explainFull } from './room.ts';
import type { RepairAction, RepairPlan } from './repair-plan.ts';
import { Salvager } from './salvager.ts';

/**
 * Makes a new segment for everything that is whole or can be saved. At any moment everything that can be read is
 * indexed by a segment, or a second repair notices that something is missing and looks for it.
 *
 * 1. Readable chunks of damaged packs, and of those that are to stay out of the index, are copied to new packs; then the new
 *    segment is written.
 * 2. Everything that it replaces is condemned. A new lock is acquired, and no snapshot may have appeared: a process
 *    that was suspended and lost its lock must not take away what others rely on by now.
 * 3. Checkpoints that list a replaced segment are removed. Manifests that only they contain were written before.
 * 4. The replaced segments go or are set aside, then the damaged packs are set aside.
 */
export function repairPacks(
  plan: RepairPlan,
  repository: Repository,
  found: {
    readonly opened: OpenedState;
    readonly survey: PackSurvey;
    readonly findings: readonly Finding[];
    /** See `roomForCopies`. */
    readonly roomBytes: number;
  },
): void {
  const { opened, survey, findings, roomBytes } = found;
  const { segmentsReplaced, segmentsDamaged, packsKept, packsCopied, packsDamaged } = survey;
  const { order, assertLocked } = repository;
  const segmentIds = [...segmentsReplaced, ...segmentsDamaged];
  const condemned = { segmentIds, packIds: packsDamaged, damagedIds: [...segmentsDamaged, ...packsDamaged] };
  const snapshotIds = new Set([...opened.listing.snapshotIds, ...opened.damage.lostSnapshots]);
  const removal = new Removal(repository, condemned, { snapshotIds, lastCommit: opened.listing.lastCommit });
  if (packsKept.length + packsCopied.length + packsDamaged.length > 0) {
    plan.add(rebuildAction(survey, roomBytes), async () => {
      try {
        await removal.prepare();
        await rebuildSegment(repository, opened, survey);
      } catch (error) {
        await removal.abandon();
        throw explainFull(error, roomBytes, survey);
      }
    });
  }
  if (segmentIds.length + packsDamaged.length > 0) {
    plan.add({ kind: 'condemned' }, async () => removal.begin());
  }
  if (segmentIds.length + opened.damage.lostSegments.length > 0) {
    const damaged = new Set(damagedNames(findings, 'checkpoint-damaged'));
    for (const name of opened.listing.checkpoints.filter((each) => !damaged.has(each))) {
      plan.add({ kind: 'checkpoint-removed', name }, async () => order.remove([name], assertLocked));
    }
  }
  for (const segmentId of segmentsReplaced) {
    plan.add({ kind: 'segment-replaced', segmentId }, async () => order.remove([segmentName(segmentId)], assertLocked));
  }
  for (const segmentId of segmentsDamaged) {
    plan.add({ kind: 'segment-quarantined', segmentId }, async () => order.quarantine(segmentName(segmentId)));
  }
  for (const packId of packsDamaged) {
    plan.add({ kind: 'pack-quarantined', packId }, async () => quarantinePack(repository, packId));
  }
  if (segmentIds.length + packsDamaged.length > 0) {
    plan.add({ kind: 'condemnation-removed' }, async () => removal.end());
  }
}

function rebuildAction(
  { packsKept, packsCopied, packsDamaged, packsMissing }: PackSurvey,
  roomBytes: number,
): RepairAction {
  return {
    kind: 'segment-rebuilt',
    intactPacks: packsKept.length,
    copiedPacks: packsCopied.length,
    damagedPacks: packsDamaged.length,
    missingPacks: packsMissing.length,
    roomBytes,
  };
}

async function rebuildSegment(
  repository: Repository,
  { listing }: OpenedState,
  { packsDamaged, packsKept, packsCopied }: PackSurvey,
): Promise<void> {
  const salvager = new Salvager(repository);
  try {
    for (const id of packsDamaged) await salvager.salvage(id);
    for (const { pack, neededIds } of packsCopied) await salvager.salvage(pack.id, neededIds);
    await salvager.finish();
    const packs = new Map([...packsKept, ...salvager.packs].map((pack) => [pack.id, pack]));
    if (packs.size > 0) await repository.order.publishSegment([...packs.values()]);
  } catch (error) {
    await salvager.abort().catch(() => undefined);
    await discardCopies(repository, listing, salvager.packs).catch(() => undefined);
    throw error;
  }
}
