import assert from 'node:assert/strict';

import type { FaultOptions, FaultyBackend, LoggedOperation } from './faulty-backend.ts';
import { inSoak } from './soak.ts';

export interface LoopOptions {
  readonly stopsAtFailure?: boolean;
  /** Leaves out what comes well before the first operation that matches, as `rename tmp/x -> packs/y`. */
  readonly startsAt?: RegExp;
}

/** At which operations an act is interrupted: in this order, and after `end` at none any more. */
export interface FaultSteps {
  readonly numbers: Iterable<number>;
  /** Every operation up to this one occurs. */
  readonly end: number;
}

/** The suite interrupts the first operation of a kind, and then one in so many. */
const STEP_IN_SUITE = 24;

/** Operations before the one that a loop starts at, where the order of those that run side by side is not the same. */
const START_SLACK = 3;

const READS: ReadonlySet<string> = new Set(['list', 'sizeOf', 'read', 'readRange', 'heartbeatOf', 'close']);

/** The numbers of the operations that change something; in the soak, of all. */
export function changesIn(operations: readonly LoggedOperation[]): number[] {
  return operations.flatMap((step, at) => (inSoak(true, !isRead(step)) ? [at + 1] : []));
}

export function isRead({ operation }: LoggedOperation): boolean {
  return READS.has(operation);
}

/**
 * Chooses the operations to interrupt, given those of a run without a fault. In the soak all. Otherwise all that change
 * something, and of those that do not: for errors the first of each kind after each change; for crashes the first of
 * each kind, since a crash leaves the same as one at the change that follows.
 */
export function chooseSteps(
  { operations }: FaultyBackend,
  mode: FaultOptions['mode'],
  { startsAt }: LoopOptions = {},
): FaultSteps {
  const start = startsAt === undefined ? 1 : findStart(operations, startsAt);
  if (inSoak(true, false)) return { numbers: countFrom(start), end: start };
  const seen = new Set<string>();
  const numbers: number[] = [];
  for (const [index, step] of operations.entries()) {
    const kind = kindOf(step);
    if (!isRead(step)) {
      if (mode === 'error') seen.clear();
    } else if (seen.has(kind)) continue;
    else seen.add(kind);
    numbers.push(index + 1);
  }
  const end = operations.length;
  return { numbers: [...numbers.filter((number) => number >= start), end + 1], end };
}

/**
 * In the suite, of these operations the first, the 25th and so on of each kind; with `byPrevious`, of each kind of the
 * change before it, which is the last one that a crash leaves. In the soak all.
 */
export function someOfEachKind(
  numbers: Iterable<number>,
  { operations }: Pick<FaultyBackend, 'operations'>,
  byPrevious = false,
): Iterable<number> {
  if (inSoak(true, false)) return numbers;
  const counts = new Map<string, number>();
  return [...numbers].filter((number) => {
    if (number > operations.length) return true;
    const step = byPrevious ? lastChange(operations, number) : operations[number - 1];
    const kind = step === undefined ? '' : classOf(step);
    const count = counts.get(kind) ?? 0;
    counts.set(kind, count + 1);
    return count % STEP_IN_SUITE === 0;
  });
}

/** The last operation before that with this number which changed something. */
export function lastChange(operations: readonly LoggedOperation[], number: number): LoggedOperation | undefined {
  return operations.slice(0, number - 1).findLast((step) => !isRead(step));
}

/** Whether an operation gave or took a name that others may rely on. */
export function changesName(step: LoggedOperation | undefined): boolean {
  return step !== undefined && /^(?:rename|remove) (?!tmp$|locks$)/.test(kindOf(step));
}

/** What is done, and in which directory. */
function kindOf({ operation, name }: LoggedOperation): string {
  return `${operation} ${directoryOf(name)}`;
}

function directoryOf(name: string): string {
  return name.split(' -> ').at(-1)!.split('/')[0]!;
}

/** Kinds of operations of which each leaves something else: reads and changes of temporary files and locks do not. */
function classOf(step: LoggedOperation): string {
  if (isRead(step)) return 'read';
  const directory = directoryOf(step.name);
  return directory === 'tmp' || directory === 'locks' ? directory : kindOf(step);
}

function findStart(operations: readonly LoggedOperation[], startsAt: RegExp): number {
  const index = operations.findIndex(({ operation, name }) => startsAt.test(`${operation} ${name}`));
  assert(index >= 0, `there is no operation ${startsAt}`);
  return Math.max(1, index + 1 - START_SLACK);
}

function* countFrom(start: number): Iterable<number> {
  for (let number = start; ; number += 1) yield number;
}
