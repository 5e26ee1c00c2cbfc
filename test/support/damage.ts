import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import type { Backend } from '../../src/core/backend/backend.ts';
import { backendFailure } from '../../src/core/backend/backend-failure.ts';
import { exitCodeOfRestore } from '../../src/verbs/restore/report.ts';
import { exitCodeOfCheck } from '../../src/verbs/check/report.ts';
import { LdmError } from '../../src/core/errors.ts';
import type { BackendError } from '../../src/core/errors.ts';
import { isCommitName } from '../../src/core/format/layout.ts';
import { check } from '../../src/verbs/check/check.ts';
import type { CheckOptions, CheckResult } from '../../src/verbs/check/check.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import type { RestoreResult } from '../../src/verbs/restore/restore.ts';
import { describeTree, diffTrees } from './compare-trees.ts';
import type { DiffTreesOptions } from './compare-trees.ts';
import { COMPACT, setStage } from './crash-stage.ts';
import type { Stage, TreeDescription } from './crash-stage.ts';
import { describeFinding } from './described.ts';
import type { DescribedFinding } from './described.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { simulatedProcess } from './simulated-process.ts';
import { inSoak } from './soak.ts';
import { withTemporaryDirectory } from './temp-directory.ts';
import { kindOfPack } from './pack-kind.ts';

/** Something bad that happens to one file of a repository. */
export interface Damage {
  readonly name: string;
  readonly file: string;
  readonly apply: (disk: MemoryBackend) => Promise<void>;
}

/** Two snapshots, a deleted one that can still come back, several packs and segments, and two checkpoints. */
export async function setDamageStage(directory: string): Promise<Stage> {
  return await setStage(directory, { ...COMPACT, deletedCount: 1 });
}

/** The ids of the snapshots that are not deleted. */
export function presentIds({ snapshotIds, deletedIds }: Stage): string[] {
  return snapshotIds.filter((id) => !deletedIds.includes(id));
}

/** Of `index`, the segments. */
export function filesIn(disk: MemoryBackend, directory: string): string[] {
  return disk.names().filter((name) => name.startsWith(`${directory}/`) && !isCommitName(name));
}

/** The packs of one kind, which the 13th byte tells. */
export function packsOfKind(disk: MemoryBackend, kind: 'data' | 'tree'): string[] {
  const keyName = filesIn(disk, 'keys')[0];
  const keyFile = keyName === undefined ? undefined : disk.peek(keyName);
  return filesIn(disk, 'packs').filter((file) => kindOfPack(disk.peek(file)!, keyFile) === kind);
}

/** Damaged bytes, truncations and garbage at the end; `positionCount` flips besides those at either end. */
export function spoilings(disk: MemoryBackend, file: string, positionCount: number): Damage[] {
  const bytes = disk.peek(file)!;
  const { length } = bytes;
  const near = positionCount < inSoak(5, 3) ? [0] : inSoak([0, 1, 4, 8, 12, 13, 16, 20, 24, 40, 48], [0, 12, 24]);
  const edges = near.flatMap((offset) => [offset, length - 1 - offset]);
  const spread = Array.from({ length: positionCount }, (_, index) => Math.floor((index * length) / positionCount));
  const positions = [...new Set([...edges, ...spread])].filter((offset) => offset >= 0 && offset < length);
  const flips = positions.map((offset, index) => flip(disk, file, offset, 1 << (index % 8)));
  const sizes = [0, 1, Math.floor(length / 2), length - 1];
  const cuts = sizes.map((sizeBytes) => replaced(`cut to ${sizeBytes}`, file, bytes.subarray(0, sizeBytes)));
  const grown = replaced('with garbage appended', file, Buffer.concat([bytes, Buffer.from('garbage')]));
  return [...flips, ...cuts, grown];
}

/** A negative offset counts from the end. */
export function flip(disk: MemoryBackend, file: string, offset: number, mask = 1): Damage {
  const bytes = disk.peek(file)!;
  const position = offset < 0 ? bytes.length + offset : offset;
  bytes[position]! ^= mask;
  return replaced(`byte ${position} of ${bytes.length}`, file, bytes);
}

export function missing(file: string): Damage {
  return { name: `${file}: missing`, file, apply: async (disk) => void (await disk.remove(file)) };
}

/** A place that the disk cannot give, whoever asks for it; or the permissions, with EACCES. */
export function unreadable(file: string, position: number, errno: 'EIO' | 'EACCES' = 'EIO'): Damage {
  const apply = async (disk: MemoryBackend): Promise<void> => {
    const [read, readRange] = [disk.read.bind(disk), disk.readRange.bind(disk)];
    const failure = (operation: 'read' | 'readRange'): BackendError =>
      backendFailure({ location: disk.location, operation, name: file, errno });
    disk.read = async (name) => {
      if (name === file) throw failure('read');
      return await read(name);
    };
    disk.readRange = async (name, offset, target) => {
      if (name === file && offset <= position && position < offset + target.length) throw failure('readRange');
      await readRange(name, offset, target);
    };
  };
  return { name: `${file}: unreadable at byte ${position}`, file, apply };
}

function replaced(what: string, file: string, bytes: Buffer): Damage {
  return { name: `${file}: ${what}`, file, apply: async (disk) => disk.poke(file, bytes) };
}

/** A copy of the stage's disk with these damages. */
export async function spoil(stage: Stage, ...damages: readonly Damage[]): Promise<MemoryBackend> {
  const disk = stage.backend.copy();
  for (const damage of damages) await damage.apply(disk);
  return disk;
}

/** What a restore of one snapshot came to. */
export interface RestoreOutcome {
  /** Whether it said that everything is there. */
  readonly isClaimedWhole: boolean;
  /** What is at the target and is not what was backed up, or lacks although the restore said nothing. */
  readonly wrong: readonly string[];
  /** Paths inside the snapshot that are not at the target. */
  readonly absent: readonly string[];
}

export async function tryRestore(backend: Backend, id: string, tree: TreeDescription): Promise<RestoreOutcome> {
  return await tryRestoreIn(simulatedProcess(backend), id, tree);
}

export async function tryRestoreIn(
  context: OperationContext,
  id: string,
  tree: TreeDescription,
): Promise<RestoreOutcome> {
  return await withTemporaryDirectory(async (target) => {
    const isClaimedWhole = await endsWell(async () => restore(context, { selector: id, target }));
    const work = join(target, 'work');
    const actual = existsSync(work) ? describeTree(work) : new Map<string, string>();
    const strangers = readdirSync(target).filter((name) => name !== 'work');
    const absent = [...tree.keys()].filter((path) => !actual.has(path));
    const wrong = isClaimedWhole
      ? diffTrees(tree, actual)
      : diffTrees(without(tree, absent), without(actual, []), PARTIAL);
    return { isClaimedWhole, wrong: [...wrong, ...strangers], absent: absent.map((path) => join('work', path)).sort() };
  });
}

/** Of links whose other names are absent. */
const PARTIAL: DiffTreesOptions = { ignore: ['hardlinkGroup'] };

/** A directory that was not finished may have any time and mode. */
function without(tree: TreeDescription, paths: readonly string[]): TreeDescription {
  return new Map([...tree].filter(([path, entry]) => !paths.includes(path) && !entry.includes('"type":"directory"')));
}

async function endsWell(run: () => Promise<RestoreResult>): Promise<boolean> {
  try {
    return exitCodeOfRestore(await run()) === 0;
  } catch (error) {
    // Only an error that a person can read counts as a refusal.
    if (!(error instanceof LdmError)) throw error;
    return false;
  }
}

/** Restores every snapshot that is not deleted. */
export async function tryRestoreAll(
  backend: Backend,
  stage: Stage,
  ids: readonly string[] = presentIds(stage),
): Promise<Map<string, RestoreOutcome>> {
  const outcomes = new Map<string, RestoreOutcome>();
  for (const id of ids) outcomes.set(id, await tryRestore(backend, id, stage.trees.get(id)!));
  return outcomes;
}

/** The result of a check, with its findings as a user sees them. */
export interface DescribedCheck extends Omit<CheckResult, 'findings'> {
  readonly findings: readonly DescribedFinding[];
  readonly exitCode: number;
}

export async function checkAll(backend: Backend): Promise<DescribedCheck> {
  return await checkDescribed(backend, { readData: true });
}

export async function checkDescribed(backend: Backend, options: CheckOptions = {}): Promise<DescribedCheck> {
  const result = await check(simulatedProcess(backend), options);
  const exitCode = exitCodeOfCheck(result);
  return { ...result, exitCode, findings: result.findings.map((finding) => describeFinding(finding)) };
}

/** The paths of a snapshot that findings name, with all that lies below them, sorted. */
export function pathsHit({ findings }: DescribedCheck, id: string, tree: TreeDescription): string[] {
  const hits = findings.flatMap(({ paths }) => (paths ?? []).filter(({ snapshot }) => snapshot === id));
  const all = [...tree.keys()].map((path) => join('work', path));
  const isHit = (path: string): boolean =>
    hits.some((hit) => hit.path === '' || hit.path === path || path.startsWith(`${hit.path}/`));
  return all.filter((path) => isHit(path)).sort();
}
