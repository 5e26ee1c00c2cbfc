import { TargetError } from '../../core/errors.ts';
import type { DirectoryPath } from '../../core/files/paths/directory-path.ts';
import { listTargetNames, removeFromTarget } from '../../core/files/target/target-removal.ts';
import type { RemovalOptions } from '../../core/files/target/target-removal.ts';
import { grantAccess } from '../../core/files/target/target-access.ts';
import type { TargetPolicy } from '../../core/files/target/target-policy.ts';
import { finishTargetDirectory } from '../../core/files/target/target-directory.ts';
import { isSetAsideName } from '../../core/files/target/work-names.ts';
import type { TreeStep } from '../../core/repository/tree-walk.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { pathOf } from '../../core/util/path-node.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import { enterChild, leaveDirectory, newFrame, openTarget } from './deletion-frame.ts';
import type { Frame } from './deletion-frame.ts';
import type { PathSelection } from './path-selection.ts';
import type { RestoreTally } from './restore-tally.ts';
import type { SavedPlaces } from './saved-places.ts';
import { KEPT_ASIDE, giveBack, isReplaced, keptAsMessage } from './set-aside.ts';
import type { SetAside } from './set-aside.ts';
import { walkSelected } from './selected-steps.ts';
import type { SelectedPlace } from './selected-steps.ts';
import { without, withoutAlike } from './unexpected-names.ts';

interface DeletionOptions {
  readonly target: ByteString;
  readonly setAside: SetAside;
  /** Nothing else is deleted. */
  readonly saved: SavedPlaces;
  readonly policy: TargetPolicy;
  readonly tally: RestoreTally;
  readonly pacer: Pacer;
  readonly dryRun: boolean;
  /** Device and inode of the directories of the repository. */
  readonly protectedIdentities: ReadonlySet<string>;
}

/**
 * Deletes from the target what is not in the snapshot, and what was set aside. Call it when everything else is restored:
 * a restore that ends early has deleted nothing. Only the directories that the selection enters are looked at. Nothing
 * is deleted from one whose tree cannot be read, from one above the paths of the snapshot, whose other contents were
 * never backed up, or in a mount below the target.
 */
export async function deleteUnexpected(place: SelectedPlace, options: DeletionOptions): Promise<void> {
  const deletion = new Deletion(place.selection, options);
  try {
    await walkSelected(place, options.pacer, {
      observe: (step) => deletion.observe(step),
      run: (step) => deletion.run(step),
    });
    await deletion.finish();
  } finally {
    deletion.close();
  }
}

class Deletion {
  readonly #selection: PathSelection | undefined;
  readonly #options: DeletionOptions;
  readonly #removal: RemovalOptions;
  /** The branch of the walk. */
  readonly #frames: Frame[];
  /** How many of them are entered. */
  #enteredCount = 1;
  #left: Frame | undefined;

  constructor(selection: PathSelection | undefined, options: DeletionOptions) {
    const { target, saved, tally, pacer, dryRun, protectedIdentities } = options;
    this.#selection = selection;
    this.#options = options;
    this.#removal = {
      dryRun,
      protectedIdentities,
      // What is in a directory that is included is included too.
      keeps: (place) => (selection?.kind === 'exclude' && !selection.selects(place)) || this.#keepsAside(place),
      onRemoved: (removed) => tally.countDeleted(removed),
      onFailed: (failed, error) => tally.failDelete(failed, error),
      pause: () => pacer.pause(),
    };
    const isSaved = saved.covers('' as ByteString);
    this.#frames = [{ ...newFrame(undefined), isSaved, location: openTarget(target) }];
  }

  /** What a killed restore has set aside may be all that is left of something, and its name does not tell of what. */
  #keepsAside(place: PathNode): boolean {
    if (!isSetAsideName(place.name)) return false;
    this.#options.tally.failDelete(place, KEPT_ASIDE);
    return true;
  }

  observe(step: TreeStep): void {
    const top = this.#frames.at(-1)!;
    if (step.kind === 'unreadable') top.isUnreadable = true;
    else if (step.kind === 'leave') this.#left = this.#frames.pop();
    else {
      top.names.push(step.name);
      if (step.kind === 'enter') this.#frames.push(newFrame(step));
    }
  }

  run(step: TreeStep): Promise<void> | undefined {
    if (step.kind === 'enter') this.#enter();
    if (step.kind !== 'leave') return undefined;
    this.#enteredCount -= 1;
    return this.#leave(this.#left!);
  }

  /** Ends the directory that is the target. */
  async finish(): Promise<void> {
    await this.#leave(this.#frames.pop()!);
  }

  close(): void {
    for (const frame of this.#frames.toReversed()) leaveDirectory(frame);
  }

  #enter(): void {
    const frame = this.#frames[this.#enteredCount]!;
    const parent = this.#frames[this.#enteredCount - 1]!;
    frame.isSaved = parent.isSaved || this.#options.saved.covers(pathOf(frame.step!));
    this.#enteredCount += 1;
    this.#reporting(frame, () =>
      this.#granting(parent, () => enterChild(parent, frame, { place: frame.step!, dryRun: this.#options.dryRun })),
    );
  }

  #reporting<T>({ step }: Frame, action: () => T): T | undefined {
    try {
      return action();
    } catch (error) {
      if (!(error instanceof TargetError)) throw error;
      this.#options.tally.failDelete(step ?? TOP, error);
      return undefined;
    }
  }

  /** Runs an action that needs access to the directory, and again if access had to be granted. */
  #granting<T>(frame: Frame, action: () => T): T {
    try {
      return action();
    } catch (error) {
      if (!(error instanceof TargetError) || !this.#grant(frame)) throw error;
      return action();
    }
  }

  /** Returns whether this has changed something. */
  #grant(frame: Frame): boolean {
    const { location, previousMode } = frame;
    if (this.#options.dryRun || location === undefined || previousMode !== undefined) return false;
    frame.previousMode = grantAccess(location.prefix);
    return frame.previousMode !== undefined;
  }

  async #leave(frame: Frame): Promise<void> {
    const { location, step } = frame;
    if (location === undefined) return;
    try {
      const path = step === undefined ? ('' as ByteString) : pathOf(step);
      if (!frame.isUnreadable) await this.#clean(frame, location, path);
    } catch (error) {
      if (!(error instanceof TargetError)) throw error;
      this.#options.tally.failDelete(step ?? TOP, error);
    } finally {
      leaveDirectory(frame);
    }
  }

  /** Of what would be deleted from a directory, returns what may be: nothing in a mount below the target. */
  #deletable({ mount }: Frame, places: readonly PathNode[]): readonly PathNode[] {
    if (mount === undefined || places.length === 0) return places;
    if (!mount.isReported) {
      mount.isReported = true;
      this.#options.tally.failDelete(mount.place, KEPT_MOUNT);
    }
    return [];
  }

  async #list(frame: Frame, location: DirectoryPath): Promise<ByteString[]> {
    try {
      return await listTargetNames(location, this.#removal.pause);
    } catch (error) {
      if (!(error instanceof TargetError) || !this.#grant(frame)) throw error;
      return await listTargetNames(location, this.#removal.pause);
    }
  }

  async #clean(frame: Frame, location: DirectoryPath, path: ByteString): Promise<void> {
    const { setAside, policy, dryRun, tally } = this.#options;
    const aside = setAside.takeIn(path);
    const asideNames = new Set(aside.map(({ workName }) => workName));
    const found = frame.isSaved ? await this.#list(frame, location) : [];
    const unexpected = without(found, frame.names)
      .filter((name) => !asideNames.has(name))
      .map((name): PathNode => ({ parent: frame.step, name }))
      .filter((place) => this.#selection?.selects(place) !== false);
    const removable = this.#deletable(frame, withoutAlike(unexpected, frame.names, location));
    if (aside.length === 0 && removable.length === 0) return;
    const { step } = frame;
    this.#grant(frame);
    for (const entry of aside) {
      if (!dryRun && !isReplaced(entry, location)) giveBack(entry, location);
      else if (!(await removeFromTarget(location, entry.workName, entry.place, this.#removal)) && !dryRun)
        tally.note(entry.place, keptAsMessage(entry.workName), KEPT_ASIDE.code);
    }
    for (const place of removable) await removeFromTarget(location, place.name, place, this.#removal);
    if (dryRun || step === undefined) return;
    // What was removed has changed its time.
    tally.noteFailure(step, finishTargetDirectory(location.prefix, step.entry, policy, { isNew: false }));
  }
}

const KEPT_MOUNT = { message: 'is a mount point; nothing was deleted in it', code: 'MOUNT_POINT' };

const TOP: PathNode = { parent: undefined, name: '.' as ByteString };
