import { CorruptDataError } from '../../errors.ts';
import type { PackContents } from '../../format/pack.ts';
import { segmentName } from '../../repository/layout.ts';
import { readSegment } from '../../repository/manifests.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import { packName, readPackContents } from '../../store/pack-reader.ts';
import { PackVerifier } from '../check/pack-verifier.ts';
import type { RepairPlan } from './repair-plan.ts';
import { Salvager } from './salvager.ts';

/** What is wrong with packs and segments. */
export interface PackSurvey {
  /** Ids of segments that are damaged, or that name a pack which is. */
  readonly segmentsReplaced: readonly string[];
  readonly segmentsDamaged: readonly string[];
  /** Whole packs that the new segment has to name. */
  readonly packsKept: readonly PackContents[];
  /** Ids of packs that are there and damaged. */
  readonly packsDamaged: readonly string[];
  readonly packsMissing: readonly string[];
}

/** Reads every pack. Packs that no segment names are only looked at where something is missing. */
export async function surveyPacks(repository: Repository, opened: OpenedState): Promise<PackSurvey> {
  const { backend, hasher } = repository;
  const { listing } = opened;
  const verifier = new PackVerifier(backend, hasher);
  const whole = new Map<string, boolean>();
  const isWhole = async (pack: PackContents): Promise<boolean> => {
    const known = whole.get(pack.id);
    if (known !== undefined) return known;
    // Two reads must agree before anything is called bad.
    const result = (await isSound(verifier, pack)) || (await isSound(verifier, pack));
    whole.set(pack.id, result);
    return result;
  };
  const segmentsReplaced: string[] = [];
  const segmentsDamaged: string[] = [];
  const kept = new Map<string, PackContents>();
  for (const id of listing.segmentIds) {
    const packs = await readSegmentOrNothing(repository, id);
    if (packs === undefined) segmentsDamaged.push(id);
    const sound: PackContents[] = [];
    for (const pack of packs ?? []) if (await isWhole(pack)) sound.push(pack);
    if (packs !== undefined && sound.length === packs.length) continue;
    segmentsReplaced.push(id);
    for (const pack of sound) kept.set(pack.id, pack);
  }
  const unnamed = [...listing.packs.keys()].filter((id) => !whole.has(id));
  const isSomethingMissing = segmentsReplaced.length > 0 || !opened.state.isComplete;
  for (const id of isSomethingMissing ? unnamed : []) {
    const pack = await readContentsOrNothing(repository, id);
    if (pack !== undefined && (await isWhole(pack))) kept.set(id, pack);
    else whole.set(id, false);
  }
  const bad = [...whole].filter(([, sound]) => !sound).map(([id]) => id);
  return {
    segmentsReplaced,
    segmentsDamaged,
    packsKept: [...kept.values()],
    packsDamaged: bad.filter((id) => listing.packs.has(id)),
    packsMissing: bad.filter((id) => !listing.packs.has(id)),
  };
}

/** New packs and one new segment first, then the old segments go, then the damaged packs are set aside. */
export function repairPacks(plan: RepairPlan, repository: Repository, survey: PackSurvey): void {
  const { segmentsReplaced, segmentsDamaged, packsKept, packsDamaged, packsMissing } = survey;
  if (segmentsReplaced.length === 0 && packsKept.length === 0 && packsDamaged.length === 0) return;
  const { order } = repository;
  const message = `names ${packsKept.length} whole packs and what was saved of ${packsDamaged.length} damaged ones; ${packsMissing.length} are missing`;
  plan.add({ kind: 'segment-rebuilt', message }, async () => rebuildSegment(repository, survey));
  for (const id of segmentsReplaced) {
    const file = segmentName(id);
    const isDamaged = segmentsDamaged.includes(id);
    const kind = isDamaged ? 'segment-quarantined' : 'segment-replaced';
    plan.add({ kind, file, message: isDamaged ? 'damaged; set aside' : 'replaced by the new segment' }, async () =>
      isDamaged ? order.quarantine(file) : order.remove([file]),
    );
  }
  for (const id of packsDamaged) {
    const file = packName(id);
    plan.add(
      { kind: 'pack-quarantined', file, message: 'damaged; its readable chunks were copied, the file set aside' },
      async () => order.quarantine(file),
    );
  }
}

async function rebuildSegment(repository: Repository, survey: PackSurvey): Promise<void> {
  const salvager = new Salvager(repository);
  try {
    for (const id of survey.packsDamaged) await salvager.salvage(id);
    await salvager.finish();
    const packs = [...survey.packsKept, ...salvager.packs];
    if (packs.length > 0) await repository.order.publishSegment(packs);
  } catch (error) {
    await salvager.abort().catch(() => undefined);
    throw error;
  }
}

async function isSound(verifier: PackVerifier, pack: PackContents): Promise<boolean> {
  return (await verifier.verifyData(pack)).problems.length === 0;
}

async function readSegmentOrNothing({ backend }: Repository, id: string): Promise<PackContents[] | undefined> {
  return await unlessCorrupt(async () => readSegment(backend, id));
}

async function readContentsOrNothing({ backend }: Repository, id: string): Promise<PackContents | undefined> {
  return await unlessCorrupt(async () => readPackContents(backend, id));
}

async function unlessCorrupt<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    return undefined;
  }
}
