import type { OpenedState } from '../../core/repository/opened-state.ts';
import { hasOtherMode } from '../../core/files/target/target-metadata.ts';
import { hasOtherXattrs, lacksFlags } from '../../core/files/target/target-attributes.ts';
import type { TargetPolicy } from '../../core/files/target/target-policy.ts';
import { finishExistingFile, readTargetStats } from '../../core/files/target/target-writer.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { TreeStep } from '../../core/repository/tree-walk.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import { chunksOfFile } from '../../core/snapshots/file-chunks.ts';
import type { HardlinkGroups } from './hardlink-groups.ts';
import type { LockedFiles } from './locked-files.ts';
import type { InPlace } from './in-place.ts';
import { decide, mtimeOf } from './overwrite.ts';
import type { FileDecision, OverwriteMode } from './overwrite.ts';
import { PlannedFile } from './planned-file.ts';
import type { RestorePlan } from './restore-plan.ts';
import type { RestoreTally } from './restore-tally.ts';
import type { SetAside } from './set-aside.ts';
import type { TargetDirectory } from './target-directories.ts';

interface DecisionOptions {
  readonly overwrite: OverwriteMode;
  readonly setAside: SetAside | undefined;
  readonly policy: TargetPolicy;
  readonly tally: RestoreTally;
  readonly dryRun: boolean;
}

export interface PlanningOptions extends DecisionOptions {
  readonly opened: OpenedState;
  readonly groups: HardlinkGroups;
  readonly locked: LockedFiles;
  readonly inPlace: InPlace | undefined;
  readonly pacer: Pacer;
}

/**
 * Decides how to restore anything but a directory. A directory created by this restore is empty, so nothing is looked
 * up. Files are created exclusively anyway.
 */
export function decideIn({ isNew, location }: TargetDirectory, step: TreeStep, options: DecisionOptions): FileDecision {
  if (isNew) return 'create';
  const path = location.childPath(step.name);
  const { overwrite, policy, tally, dryRun } = options;
  const { entry } = step;
  const decision = decide(path, entry, overwrite, ({ uid, gid, mode, mtimeNs, nlink }) => {
    const current = { uid: Number(uid), gid: Number(gid), mode: Number(mode) };
    const isOther = hasOtherMode(path, current, entry, policy) || hasOtherXattrs(path, entry, policy.attributes);
    // Anything but a file has no content, and can be replaced. Only a device may be one that we cannot create.
    if (entry.type !== 'file') return (isOther || mtimeNs !== mtimeOf(entry)) && canCreate(entry, policy);
    if (!isOther && !lacksFlags(path, entry, policy.attributes)) return false;
    // It has names that the snapshot does not have for it, here or elsewhere, to which the metadata does not belong.
    if (nlink > (entry.hardlink?.linkCount ?? 1)) return true;
    if (!dryRun) tally.noteFailure(step, finishExistingFile(path, entry, policy));
    return false;
  });
  const isFree = decision === 'blocked' && options.setAside?.clear(location, step) === true;
  return isFree ? 'create' : decision;
}

function canCreate({ type }: TreeEntry, { makesDevices }: TargetPolicy): boolean {
  return makesDevices || type === 'symlink' || type === 'fifo';
}

/**
 * Restores a file in a directory if nothing has to be read for it, else adds it to the plan. Returns a promise if its
 * content has to be compared first.
 */
export function planFile(
  step: TreeStep,
  directory: TargetDirectory,
  plan: RestorePlan,
  options: PlanningOptions,
): Promise<void> | undefined {
  const { entry } = step;
  const { tally, groups, dryRun, overwrite, pacer } = options;
  const decision = decideIn(directory, step, options);
  const isApart = decision === 'unchanged' && overwrite === 'if-changed' && groups.isApart(entry, directory.location);
  if (!isApart) return planDecided({ step, directory, decision }, plan, options);
  const countJoined = (): undefined => {
    tally.countFile({ ...step, replaces: true, keptBytes: entry.sizeBytes });
  };
  if (dryRun) return countJoined();
  const path = directory.location.childPath(entry.name);
  return groups
    .join(entry, path, () => pacer.pause())
    .then((outcome) => {
      if (outcome === 'joined') return countJoined();
      if (outcome === 'locked') tally.note(step, LOCKED_APART.message, LOCKED_APART.code);
      return planDecided({ step, directory, decision }, plan, options);
    });
}

/** For a name that stays a separate file, because of an immutable or append-only one. */
export const LOCKED_APART = {
  message: 'is a separate file and no hard link, because one of the names is immutable or append-only',
  code: 'HARD_LINK',
} as const;

interface DecidedFile {
  readonly step: TreeStep;
  readonly directory: TargetDirectory;
  readonly decision: FileDecision;
}

function planDecided(
  { step, directory, decision }: DecidedFile,
  plan: RestorePlan,
  options: PlanningOptions,
): Promise<void> | undefined {
  const { entry } = step;
  const { tally, opened, groups, locked, inPlace, dryRun } = options;
  if (decision === 'unchanged') groups.note(entry, directory.location, { isWritten: false });
  if (decision === 'unchanged' && !dryRun && hasItsMetadata(step, directory, options))
    locked.note(step, directory.location, entry.hardlink !== undefined);
  if (tally.isSettled(decision, step)) return undefined;
  const chunks = chunksOfFile(opened, entry);
  const file = new PlannedFile(step, directory, { replaces: decision === 'replace' });
  if (dryRun || (file.linked !== undefined && groups.link(entry, file.path, file))) {
    tally.countFile(file);
    return undefined;
  }
  const patching = file.replaces ? inPlace?.plan(file.path, entry, chunks) : undefined;
  if (patching === undefined) return addToPlan(plan, file, chunks, groups);
  return patching.then((patch) => {
    file.patch = patch;
    addToPlan(plan, file, patch?.entries ?? chunks, groups);
  });
}

/** A file that differs is kept as it is, unless `overwrite` has corrected it. */
function hasItsMetadata({ entry }: TreeStep, { location }: TargetDirectory, options: PlanningOptions): boolean {
  const { policy, overwrite } = options;
  if (entry.inodeFlags === 0 || overwrite === 'if-changed') return true;
  const path = location.childPath(entry.name);
  const stats = readTargetStats(path);
  if (stats === undefined) return false;
  const current = { uid: Number(stats.uid), gid: Number(stats.gid), mode: Number(stats.mode) };
  return !hasOtherMode(path, current, entry, policy) && !hasOtherXattrs(path, entry, policy.attributes);
}

function addToPlan(plan: RestorePlan, file: PlannedFile, chunks: readonly number[], groups: HardlinkGroups): undefined {
  file.directory.pendingCount += 1;
  if (file.linked !== undefined && groups.isExpected(file.linked)) plan.links.push(file);
  else plan.add(file, chunks);
}
