import { expect } from 'vitest';

import type { FileSystemBackend } from '../../src/core/backend/file-system-backend.ts';
import { LdmError } from '../../src/core/errors.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { listSnapshots } from '../../src/verbs/snapshots/snapshots.ts';
import { tagSnapshots } from '../../src/verbs/tag/tag.ts';
import { BACKUP, COMPACT, backupWork, setStage } from './crash-stage.ts';
import type { Stage } from './crash-stage.ts';
import { checkAll } from './damage.ts';
import { changesName } from './fault-steps.ts';
import { FaultyBackend, SimulatedCrash } from './faulty-backend.ts';
import type { FaultOptions } from './faulty-backend.ts';
import { fingerprint } from './interruption.ts';
import { parentOf } from './memory-backend.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { NEWEST_ONLY, PowerCutBackend } from './power-cut-backend.ts';
import { simulatedProcess } from './simulated-process.ts';

export type StepName =
  | 'backup'
  | 'delete'
  | 'undelete'
  | 'tag'
  | 'compact'
  | 'compact manifests'
  | 'compact a full disk'
  | 'repair';

type Step = (context: OperationContext, stage: Stage) => Promise<unknown>;

/** Of three snapshots, the first is deleted, `delete` takes the second, and `tag` changes the third. */
const STEPS: Readonly<Record<StepName, Step>> = {
  backup: async (context, { work }) => backupWork(context, work),
  delete: async (context, { snapshotIds }) =>
    deleteSnapshots(context, { selectors: [snapshotIds[1]!], reclaim: false }),
  undelete: async (context, { snapshotIds }) => undeleteSnapshots(context, { selectors: [snapshotIds[0]!] }),
  tag: async (context) => tagSnapshots(context, { selectors: ['latest'], add: ['tag'] }),
  compact: async (context) => compact(context, { maxUnusedPercent: 0 }),
  'compact manifests': async (context) => compact(context, { maxUnusedPercent: 100 }),
  // It is full once, when the compaction begins to write.
  'compact a full disk': async (context) => {
    const only = (operation: string, name: string): boolean => operation === 'create' && name.startsWith('tmp/');
    const backend = new FaultyBackend(context.backend as FileSystemBackend, { failAt: 1, errno: 'ENOSPC', only });
    await compact({ ...context, backend }, { maxUnusedPercent: 0 });
  },
  repair: async (context) => repair(context),
};

export const STEP_NAMES: readonly StepName[] = Object.keys(STEPS) as StepName[];

/** A step whose process dies right before it syncs a directory in which it has changed a name, for the `nth` time. */
export interface Death {
  readonly step: StepName;
  readonly directory: string;
  readonly nth: number;
}

export async function setStageOfSteps(directory: string): Promise<Stage> {
  return await setStage(directory, { ...COMPACT, deletedCount: 1 });
}

/** In this one, a tag has changed the third snapshot, and none is deleted. */
export async function setStageOfTag(directory: string): Promise<Stage> {
  const stage = await setStage(directory, BACKUP);
  await STEPS.tag(simulatedProcess(stage.backend), stage);
  return stage;
}

/** Returns the deaths of a step that leave names which are not durable. */
export async function deathsOf(stage: Stage, step: StepName): Promise<Death[]> {
  const deaths: Death[] = [];
  const log = new FaultyBackend(stage.backend.copy(), { only: isNeededSync() });
  await STEPS[step](simulatedProcess(log), stage);
  for (const { name } of log.operations) {
    const directory = topOf(name);
    deaths.push({ step, directory, nth: 1 + deaths.filter((death) => death.directory === directory).length });
  }
  return deaths;
}

/** Returns the disk as a death leaves it. */
export async function diskAfter(stage: Stage, { step, directory, nth }: Death): Promise<PowerCutBackend> {
  const disk = new PowerCutBackend(stage.backend);
  const dying = new FaultyBackend(disk, { failAt: nth, mode: 'crash', only: isNeededSync(directory) });
  await expect(STEPS[step](simulatedProcess(dying), stage)).rejects.toThrow(SimulatedCrash);
  dying.assertFired();
  return disk;
}

/** Matches each sync of a directory in which a name has changed since the last one. */
function isNeededSync(only?: string): NonNullable<FaultOptions['only']> {
  const changed = new Set<string>();
  return (operation, name) => {
    const names = name.split(' -> ');
    if (operation === 'rename' || operation === 'remove') for (const each of names) changed.add(parentOf(each));
    return operation === 'syncDirectory' && changed.delete(name) && (only ?? topOf(name)) === topOf(name);
  };
}

const topOf = (name: string): string => name.split('/')[0]!;

/**
 * Runs a step after the death, and cuts the power after each change of a name and each sync, and at the end. Says what is
 * wrong then. The process that died has promised nothing, the step only if it succeeds; all other snapshots must stay.
 */
export async function cutAfter(
  stage: Stage,
  { death, disk, second }: { readonly death: Death; readonly disk: PowerCutBackend; readonly second: StepName },
  seeds: readonly number[],
): Promise<string[]> {
  const isDeleting = death.step === 'delete' || second === 'delete';
  const kept = (await timesIn(stage.backend)).slice(isDeleting ? 1 : 0);
  const found = new Map<string, { readonly place: string; readonly backend: MemoryBackend }>();
  const cut = (place: string, seed: number): void => {
    const backend = disk.cut(seed);
    const key = fingerprint(backend);
    if (!found.has(key)) found.set(key, { place: `${place}, seed ${seed}`, backend });
  };
  const before = await timesIn(disk);
  await runWatched(stage, disk, second, (place) => [NEWEST_ONLY, 0].forEach((seed) => cut(place, seed)));
  const failures: string[] = [];
  for (const { place, backend } of found.values()) {
    failures.push(...(await examine(backend, kept)).map((failure) => `cut after ${place}: ${failure}`));
  }
  const after = await timesIn(disk);
  const promised = [...kept, ...after.filter((time) => !before.includes(time))];
  const gone = before.filter((time) => !after.includes(time));
  for (const seed of [NEWEST_ONLY, 0, ...seeds]) {
    const wrong = await examine(disk.cut(seed), promised, gone);
    failures.push(...wrong.map((failure) => `cut at the end, seed ${seed}: ${failure}`));
  }
  return failures;
}

/** The step may refuse what the process that died has done already. */
async function runWatched(
  stage: Stage,
  disk: PowerCutBackend,
  step: StepName,
  onChange: (place: string) => void,
): Promise<void> {
  const log = new FaultyBackend(disk);
  const guard = log.guard.bind(log);
  log.guard = async (operation, name, ...others) => {
    const result = await guard(operation, name, ...others);
    if (operation === 'syncDirectory' || changesName({ operation, name })) onChange(`${operation} ${name}`);
    return result;
  };
  try {
    await STEPS[step](simulatedProcess(log), stage);
  } catch (error) {
    if (!(error instanceof LdmError && ['SNAPSHOT_NOT_FOUND', 'REFUSED'].includes(error.code))) throw error;
  }
}

/** `present` and `absent`: the times of snapshots. */
async function examine(
  backend: MemoryBackend,
  present: readonly string[],
  absent: readonly string[] = [],
): Promise<string[]> {
  const there = await timesIn(backend);
  return [
    ...(await checkAll(backend)).findings.map(({ kind, message }) => `${kind} ${message}`),
    ...present.filter((time) => !there.includes(time)).map((time) => `the snapshot of ${time} is gone`),
    ...absent.filter((time) => there.includes(time)).map((time) => `the snapshot of ${time} is back`),
  ];
}

/** The time of a snapshot stays when its tags change. */
async function timesIn(backend: MemoryBackend): Promise<string[]> {
  const listings = await listSnapshots(simulatedProcess(backend.copy()));
  return listings.map(({ snapshot }) => snapshot.time);
}
