import { rmSync } from 'node:fs';
import { join } from 'node:path';

import type { Backend } from '../../src/core/backend/backend.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { listOptional } from '../../src/core/repository/own-listing.ts';
import { diffTrees } from './compare-trees.ts';
import { backupWork } from './crash-stage.ts';
import type { Stage, TreeDescription } from './crash-stage.ts';
import { checkAll } from './damage.ts';
import { simulatedProcess } from './simulated-process.ts';
import { inSoak } from './soak.ts';
import { makeTemporaryDirectory } from './temp-directory.ts';

/** What must be true of the snapshots after an interruption. */
export interface Expectation {
  /** Ids that must be there, and ids that must not. */
  readonly present: readonly string[];
  readonly absent: readonly string[];
}

/** What is done after a check. */
export const AFTERMATH_PARTS = ['restore', 'backup', 'compact'] as const;
export type AftermathPart = (typeof AFTERMATH_PARTS)[number];

/**
 * Uses a repository after an interruption as anybody would, with no step to mend it, and says what is wrong; empty when
 * nothing is. A snapshot that the stage does not know must be one of the directory as it is now.
 */
export async function examineAftermath(
  backend: Backend,
  stage: Stage,
  expected: Expectation,
  parts: readonly AftermathPart[] = AFTERMATH_PARTS,
): Promise<string[]> {
  const failures: string[] = [];
  const attempt = async (step: string, action: () => Promise<readonly string[]>): Promise<void> => {
    try {
      failures.push(...(await action()).map((failure) => `${step}: ${failure}`));
    } catch (error) {
      failures.push(`${step} failed: ${String(error)}`);
    }
  };
  await attempt('check', async () => findDamage(backend));
  await attempt('snapshots', async () => compareSnapshots(backend, expected));
  if (parts.includes('restore')) await attempt('restore', async () => restoreAll(backend, stage));
  if (parts.includes('backup')) await attempt('next backup', async () => backUpAgain(backend, stage));
  if (parts.includes('compact')) await attempt('next compact', async () => compactAll(backend));
  return failures;
}

async function findDamage(backend: Backend): Promise<string[]> {
  const { findings } = await checkAll(backend);
  return findings.map(({ kind, file = '', message }) => `${kind} ${file} ${message}`);
}

/** By name, because that is what a commit leaves; whether they can be read is seen when they are restored. */
async function idsOf(backend: Backend): Promise<string[]> {
  return (await backend.list('snapshots')).map(({ name }) => name.slice('snapshots/'.length));
}

async function compareSnapshots(backend: Backend, { present, absent }: Expectation): Promise<string[]> {
  const ids = await idsOf(backend);
  return [
    ...present.filter((id) => !ids.includes(id)).map((id) => `${id} is gone`),
    ...absent.filter((id) => ids.includes(id)).map((id) => `${id} should not be there`),
  ];
}

async function restoreAll(backend: Backend, stage: Stage): Promise<string[]> {
  const failures: string[] = [];
  for (const id of inTurn(stage, await idsOf(backend))) {
    failures.push(...(await restoreOne(backend, id, stage.trees.get(id) ?? stage.workTree)));
  }
  return failures;
}

/** In the suite one of the three, by turns. */
export function partsAt(round: number): readonly AftermathPart[] {
  return inSoak<readonly AftermathPart[]>(AFTERMATH_PARTS, [AFTERMATH_PARTS[round % AFTERMATH_PARTS.length]!]);
}

const turns = new WeakMap<object, number>();

/** In the suite one of them, each in its turn, since a check has found the chunks of all. In the soak all. */
export function inTurn<T>(stage: object, all: readonly T[]): readonly T[] {
  if (inSoak(true, all.length < 2)) return all;
  const turn = turns.get(stage) ?? 0;
  turns.set(stage, turn + 1);
  return [all[turn % all.length]!];
}

export async function restoreOne(backend: Backend, id: string, tree: TreeDescription): Promise<string[]> {
  const target = makeTemporaryDirectory();
  try {
    const { problems } = await restore(simulatedProcess(backend), { selector: id, target });
    const differences = problems.length > 0 ? [] : diffTrees(tree, join(target, 'work'));
    return [...problems.map(({ path, message }) => `${id}: ${path}: ${message}`), ...differences];
  } finally {
    rmSync(target, { recursive: true, force: true });
  }
}

/** Nothing is left of the records that it used. */
async function backUpAgain(backend: Backend, stage: Stage): Promise<string[]> {
  const { snapshotId = '', problems } = await backupWork(simulatedProcess(backend), stage.work);
  const records = await listOptional(backend, 'unfinished');
  return [
    ...problems.map(({ message }) => message),
    ...records.map(({ name }) => `${name} was left`),
    ...(await restoreOne(backend, snapshotId, stage.workTree)),
  ];
}

/** Afterwards nothing is left of the interruption, and every chunk that a snapshot needs is still proved to be there. */
async function compactAll(backend: Backend): Promise<string[]> {
  await compact(simulatedProcess(backend), { maxUnusedPercent: 0 });
  const left = [...(await backend.list('tmp')), ...(await backend.list('locks'))];
  return [...left.map(({ name }) => `${name} was left`), ...(await findDamage(backend))];
}
