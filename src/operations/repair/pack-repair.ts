import { packName, segmentName } from '../../format/layout.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import type { Finding } from '../check/findings.ts';
import { Removal, discardCopies } from '../removal.ts';
import type { PackSurvey } from './pack-survey.ts';
import type { RepairPlan } from './repair-plan.ts';
import { Salvager } from './salvager.ts';

/**
 * Makes a new segment for everything that is whole or can be saved. At any moment everything that can be read is
 * indexed by a segment, or a second repair notices that something is missing and looks for it.
 *
 * 1. Readable chunks of damaged and of condemned packs are copied to new packs; then the new segment is written.
 * 2. Everything that it replaces is condemned. The lock is acquired anew, and no snapshot may have appeared: a process
 *    that was suspended and lost its lock must not take away what others rely on by now.
 * 3. Checkpoints that list a replaced segment are removed. Manifests that only they contain were written before.
 * 4. The replaced segments go or are set aside, then the damaged packs are set aside.
 */
export function repairPacks(
  plan: RepairPlan,
  repository: Repository,
  found: { readonly opened: OpenedState; readonly survey: PackSurvey; readonly findings: readonly Finding[] },
): void {
  const { opened, survey, findings } = found;
  const { segmentsReplaced, segmentsDamaged, packsKept, packsCondemned, packsDamaged } = survey;
  const { order, assertLocked } = repository;
  const segmentIds = [...segmentsReplaced, ...segmentsDamaged];
  const condemned = { segmentIds, packIds: packsDamaged, damagedIds: [...segmentsDamaged, ...packsDamaged] };
  const knownSnapshotIds = new Set([...opened.listing.snapshotIds, ...opened.lostSnapshots]);
  const removal = new Removal(repository, condemned, knownSnapshotIds);
  if (packsKept.length + packsCondemned.length + packsDamaged.length > 0) {
    plan.add({ kind: 'segment-rebuilt', message: describe(survey) }, async () => {
      await removal.prepare();
      await rebuildSegment(repository, opened, survey).catch(async (error: unknown) => {
        await removal.abandon();
        throw error;
      });
    });
  }
  if (segmentIds.length + packsDamaged.length > 0) {
    plan.add(
      { kind: 'condemned', message: 'list in condemned/ what is replaced, so that no other command relies on it' },
      async () => removal.begin(),
    );
  }
  if (segmentIds.length + opened.lostSegments.length > 0) {
    const damaged = findings.map(({ file }) => file);
    for (const file of opened.listing.checkpoints.filter((name) => !damaged.includes(name))) {
      plan.add(
        { kind: 'checkpoint-removed', file, message: `remove ${file}, a checkpoint that lists replaced segments` },
        async () => order.remove([file], assertLocked),
      );
    }
  }
  for (const id of segmentsReplaced) {
    const file = segmentName(id);
    plan.add({ kind: 'segment-replaced', file, message: `remove ${file}, which the new segment replaces` }, async () =>
      order.remove([file], assertLocked),
    );
  }
  for (const id of segmentsDamaged) {
    const file = segmentName(id);
    plan.add({ kind: 'segment-quarantined', file, message: `set aside ${file}, which is damaged` }, async () =>
      order.quarantine(file),
    );
  }
  for (const id of packsDamaged) {
    const file = packName(id);
    const message = `set aside ${file}, which is damaged; its readable chunks are in new packs`;
    plan.add({ kind: 'pack-quarantined', file, message }, async () => order.quarantine(file));
  }
  if (segmentIds.length + packsDamaged.length > 0) {
    plan.add({ kind: 'condemnation-removed', message: 'remove the list in condemned/' }, async () => removal.end());
  }
}

function describe({ packsKept, packsDamaged, packsMissing }: PackSurvey): string {
  const parts = [`write a new segment that lists ${countPacks(packsKept.length, 'intact')}`];
  if (packsDamaged.length > 0)
    parts.push(`and copies of what is readable in ${countPacks(packsDamaged.length, 'damaged')}`);
  return `${parts.join(' ')}${packsMissing.length > 0 ? `; ${countPacks(packsMissing.length, 'missing')}` : ''}`;
}

function countPacks(count: number, state: string): string {
  return `${count} ${state} ${count === 1 ? 'pack' : 'packs'}`;
}

async function rebuildSegment(
  repository: Repository,
  { listing }: OpenedState,
  { packsDamaged, packsKept, packsCondemned }: PackSurvey,
): Promise<void> {
  const salvager = new Salvager(repository);
  try {
    for (const id of [...packsDamaged, ...packsCondemned.map((pack) => pack.id)]) await salvager.salvage(id);
    await salvager.finish();
    const packs = new Map([...packsKept, ...salvager.packs].map((pack) => [pack.id, pack]));
    if (packs.size > 0) await repository.order.publishSegment([...packs.values()]);
  } catch (error) {
    await salvager.abort().catch(() => undefined);
    await discardCopies(repository, listing, salvager.packs).catch(() => undefined);
    throw error;
  }
}
