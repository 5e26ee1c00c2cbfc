import type { SnapshotPlace } from '../../core/repository/tree-walk.ts';
import type { StateReader } from '../../core/repository/state-reader.ts';
import { TreeWalk } from '../../core/repository/tree-walk.ts';
import type { TreeStep } from '../../core/repository/tree-walk.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import type { PathSelection } from './path-selection.ts';

export interface SelectedPlace {
  readonly reader: StateReader;
  /** Opens what the selector names. The entries of a place can be read once. */
  readonly open: () => SnapshotPlace | Promise<SnapshotPlace>;
  /** Undefined if everything is selected. */
  readonly selection: PathSelection | undefined;
}

/** Returns `first`, and then the same place again: its entries can be read once. */
export function placeOpener(first: SnapshotPlace, again: () => Promise<SnapshotPlace>): SelectedPlace['open'] {
  let unused: SnapshotPlace | undefined = first;
  return () => {
    const place = unused;
    unused = undefined;
    return place ?? again();
  };
}

interface StepHandler {
  /** Called with each step that is selected. Returns no promise if there is nothing to wait for. */
  readonly run: (step: TreeStep) => Promise<void> | undefined;
  /** Called with each step before that, whether it is selected or not. A directory that is not walked is left at once. */
  readonly observe?: (step: TreeStep) => void;
}

/** Walks through the selected part of a snapshot. Trees in which nothing can be selected are not read. */
export async function walkSelected(place: SelectedPlace, pacer: Pacer, handler: StepHandler): Promise<void> {
  const walk = new TreeWalk(place.reader, await place.open());
  const chosen = place.selection === undefined ? undefined : new ChosenSteps(walk, place.selection);
  // Most steps wait for nothing, and awaiting them would take longer than the steps.
  for (;;) {
    const next = walk.next();
    const step = next instanceof Promise ? await next : next;
    if (step === undefined) return;
    handler.observe?.(step);
    if (chosen === undefined) {
      const running = handler.run(step);
      if (running !== undefined) await running;
    } else {
      for (const selected of chosen.after(step)) await handler.run(selected);
      if (chosen.hasSkipped) handler.observe?.({ ...step, kind: 'leave' });
    }
    const pause = pacer.pause();
    if (pause !== undefined) await pause;
  }
}

/**
 * Chooses the steps of what is selected. A directory that is not selected itself is entered when the first thing in it
 * is: so it gets its metadata, and directories that lead to nothing are left out.
 */
class ChosenSteps {
  readonly #walk: TreeWalk;
  readonly #selection: PathSelection;
  /** The innermost directories of the branch, which are not entered yet. */
  readonly #waiting: TreeStep[] = [];
  /** Whether the last step was a directory that is not walked. */
  hasSkipped = false;

  constructor(walk: TreeWalk, selection: PathSelection) {
    this.#walk = walk;
    this.#selection = selection;
  }

  /** Returns the steps to run after a step of the walk. */
  after(step: TreeStep): readonly TreeStep[] {
    this.hasSkipped = false;
    // Its contents are not known, so something may be missing.
    if (step.kind === 'unreadable') return [step];
    if (step.kind === 'leave') return this.#waiting.pop() === undefined ? [step] : [];
    if (this.#selection.selects(step)) return [...this.#waiting.splice(0), step];
    if (step.kind === 'enter') {
      if (this.#selection.leadsOn(step)) this.#waiting.push(step);
      else {
        this.#walk.skip();
        this.hasSkipped = true;
      }
    }
    return [];
  }
}
