import { expect } from 'vitest';

import type { Backend } from '../../src/core/backend/backend.ts';
import { exitCodeOfRepair } from '../../src/verbs/repair/report.ts';
import { LdmError } from '../../src/core/errors.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import type { RepairResult } from '../../src/verbs/repair/repair.ts';
import { baseName, manifestCopyName } from '../../src/core/format/layout.ts';
import { backupWork } from './crash-stage.ts';
import type { Stage } from './crash-stage.ts';
import { checkAll, filesIn, packsOfKind, pathsHit, tryRestore, tryRestoreAll } from './damage.ts';
import type { Damage, RestoreOutcome } from './damage.ts';
import { describeFinding, describeRepairAction } from './described.ts';
import type { DescribedAction, DescribedFinding } from './described.ts';
import { SimulatedCrash } from './faulty-backend.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { simulatedProcess } from './simulated-process.ts';

/** The result of a repair as a user sees it. */
export interface DescribedRepair extends Omit<RepairResult, 'actions' | 'remaining'> {
  readonly actions: readonly DescribedAction[];
  readonly remaining: readonly DescribedFinding[];
  readonly exitCode: number;
}

export async function repairAll(backend: Backend, dryRun = false): Promise<DescribedRepair> {
  const result = await repair(simulatedProcess(backend), { dryRun });
  const actions = result.actions.map((action) => describeRepairAction(action));
  const remaining = result.remaining.map((finding) => describeFinding(finding));
  return { ...result, actions, remaining, exitCode: exitCodeOfRepair(result) };
}

/** A dry run tells what it would do and does nothing. */
export async function expectPlanOnly(disk: MemoryBackend): Promise<DescribedRepair> {
  const before = contents(disk);
  const result = await repairAll(disk, true);
  expect(contents(disk)).toEqual(before);
  return result;
}

/** Whatever was restored before the repair is restored after it. Returns what is restored now. */
export async function expectNothingLost(
  disk: MemoryBackend,
  stage: Stage,
  before: ReadonlyMap<string, RestoreOutcome>,
): Promise<ReadonlyMap<string, RestoreOutcome>> {
  const after = await tryRestoreAll(disk, stage);
  for (const [id, outcome] of before) {
    const now = after.get(id)!;
    expect(now.wrong).toEqual([]);
    expect(now.absent.filter((path) => !outcome.absent.includes(path))).toEqual([]);
  }
  return after;
}

/** `after`: what the restores give now. */
export async function expectFindingsNameTheLost(
  disk: MemoryBackend,
  stage: Stage,
  { isMendable, after }: { readonly isMendable: boolean; readonly after: ReadonlyMap<string, RestoreOutcome> },
): Promise<void> {
  const found = await checkAll(disk);
  if (isMendable) expect(found.findings).toEqual([]);
  else expect(found.exitCode).toBe(4);
  for (const [id, { isClaimedWhole, absent }] of after) {
    const named = pathsHit(found, id, stage.trees.get(id)!);
    expect(isClaimedWhole).toBe(named.length === 0);
    expect(absent.filter((path) => !named.includes(path))).toEqual([]);
  }
}

/** Nothing that was damaged is thrown away. */
export function expectOriginalsKept(disk: MemoryBackend, spoiled: MemoryBackend, damages: readonly Damage[]): void {
  const kept = filesIn(disk, 'quarantine').map((file) => disk.peek(file)!.toString('latin1'));
  const damaged = damages
    .map(({ file }) => spoiled.peek(file)?.toString('latin1'))
    .filter((bytes) => bytes !== undefined);
  for (const bytes of damaged) expect(kept.includes(bytes)).toBe(true);
}

export async function expectStable(disk: MemoryBackend): Promise<void> {
  const before = contents(disk);
  expect((await repairAll(disk)).actions).toEqual([]);
  expect(contents(disk)).toEqual(before);
}

/** The next backup stores what is missing of the files that are still there. */
export async function expectHealed(disk: MemoryBackend, stage: Stage): Promise<void> {
  const { snapshotId } = await backupWork(simulatedProcess(disk), stage.work);
  expect(await tryRestore(disk, snapshotId!, stage.workTree)).toMatchObject({ isClaimedWhole: true, wrong: [] });
}

export function contents(disk: MemoryBackend): Map<string, string> {
  const names = disk.names().filter((name) => !name.startsWith('locks/') && name !== 'reserve');
  return new Map(names.map((name) => [name, disk.peek(name)!.toString('latin1')]));
}

export function first(disk: MemoryBackend, directory: string): string {
  return filesIn(disk, directory)[0]!;
}

export function dataPacks(disk: MemoryBackend): string[] {
  return packsOfKind(disk, 'data');
}

export function largestPack(disk: MemoryBackend): string {
  const sizeOf = (file: string): number => disk.peek(file)!.length;
  return filesIn(disk, 'packs').toSorted((a, b) => sizeOf(b) - sizeOf(a))[0]!;
}

export function cutInHalf(disk: MemoryBackend, file: string): Damage {
  const bytes = disk.peek(file)!;
  const half = bytes.subarray(0, bytes.length / 2);
  return { name: 'half', file, apply: async (other) => other.poke(file, half) };
}

/** The copy of a manifest in snapshots/ or deleted/. */
export function copyOf(manifest: string): string {
  return manifestCopyName(baseName(manifest));
}

/** Of the operations of a repair. Locks are for other tests. */
export function isChange(operation: string, name: string): boolean {
  return (
    !name.startsWith('locks/') && !['read', 'readRange', 'list', 'sizeOf', 'touch', 'heartbeatOf'].includes(operation)
  );
}

/** What a repair that may die comes to: 'done', or its error. */
export async function outcomeOf(run: Promise<unknown>): Promise<string> {
  return await run.then(
    () => 'done',
    (error: unknown) => {
      if (error instanceof SimulatedCrash || error instanceof LdmError) return error.message;
      throw error;
    },
  );
}
