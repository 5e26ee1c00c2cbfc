import { segmentName } from '../../repository/layout.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import { packName } from '../../store/pack-reader.ts';
import type { Finding } from '../check/findings.ts';
import type { PackSurvey } from './pack-survey.ts';
import type { RepairPlan } from './repair-plan.ts';
import { Salvager } from './salvager.ts';

/**
 * Makes a new segment for everything that is whole or can be saved. The order keeps this true at any moment: what can be
 * read is named by a segment, or a second repair finds out that something is missing and looks for it.
 *
 * 1. Damaged segments are set aside: nothing can be read with them, and the new segment may get the name of one.
 * 2. Readable chunks of damaged packs are copied into new packs; then the new segment is written.
 * 3. Checkpoints that name a segment which goes are removed. Manifests that only they remember were written before.
 * 4. The segments that are replaced go, then the damaged packs are set aside.
 */
export function repairPacks(
  plan: RepairPlan,
  repository: Repository,
  found: { readonly opened: OpenedState; readonly survey: PackSurvey; readonly findings: readonly Finding[] },
): void {
  const { opened, survey, findings } = found;
  const { segmentsReplaced, segmentsDamaged, packsKept, packsDamaged } = survey;
  const { order } = repository;
  for (const id of segmentsDamaged) {
    const file = segmentName(id);
    plan.add({ kind: 'segment-quarantined', file, message: 'damaged; set aside' }, async () => order.quarantine(file));
  }
  if (packsKept.length + packsDamaged.length > 0) {
    plan.add({ kind: 'segment-rebuilt', message: describe(survey) }, async () => rebuildSegment(repository, survey));
  }
  if (segmentsReplaced.length + segmentsDamaged.length + opened.lostSegments.length > 0) {
    const damaged = findings.map(({ file }) => file);
    const sound = opened.listing.checkpoints.filter((name) => !damaged.includes(name));
    removeCheckpoints(plan, repository, sound);
  }
  for (const id of segmentsReplaced) {
    const file = segmentName(id);
    plan.add({ kind: 'segment-replaced', file, message: 'it names packs that are damaged or missing' }, async () =>
      order.remove([file]),
    );
  }
  for (const id of packsDamaged) {
    const file = packName(id);
    const message = 'damaged; its readable chunks were copied, the file set aside';
    plan.add({ kind: 'pack-quarantined', file, message }, async () => order.quarantine(file));
  }
}

function describe({ packsKept, packsDamaged, packsMissing }: PackSurvey): string {
  return `names ${packsKept.length} whole packs and what was saved of ${packsDamaged.length} damaged ones; ${packsMissing.length} are missing`;
}

/** Damaged ones are left for the last step, which sets them aside. */
function removeCheckpoints(plan: RepairPlan, { order }: Repository, names: readonly string[]): void {
  for (const file of names) {
    plan.add({ kind: 'checkpoint-removed', file, message: 'it names segments that are gone' }, async () =>
      order.remove([file]),
    );
  }
}

async function rebuildSegment(repository: Repository, { packsDamaged, packsKept }: PackSurvey): Promise<void> {
  const salvager = new Salvager(repository, packsDamaged);
  try {
    for (const id of packsDamaged) await salvager.salvage(id);
    await salvager.finish();
    const packs = new Map([...packsKept, ...salvager.packs].map((pack) => [pack.id, pack]));
    if (packs.size > 0) await repository.order.publishSegment([...packs.values()]);
  } catch (error) {
    await salvager.abort().catch(() => undefined);
    throw error;
  }
}
