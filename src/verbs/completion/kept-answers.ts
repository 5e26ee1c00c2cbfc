import { readFileSync, statSync } from 'node:fs';
import type { Candidate } from './candidates.ts';

/*
 * What repositories answered to earlier completions. A shell asks at each TAB: to ask the repository each time took 180 ms of
 * processor time for a list of snapshots and 270 ms for a directory, and another second if it is encrypted.
 */

/** Where it is seen that the snapshots have changed, and when they last had. */
interface Stamp {
  /** The directory with the manifests; undefined if it is on another machine. */
  readonly directory: string | undefined;
  /** When it was changed last; for another machine, when it was asked. */
  readonly timeMs: number;
}

interface KeptAnswer extends Stamp {
  readonly question: string;
  readonly candidates: readonly Candidate[];
}

/** For how long the answers of another machine are used. */
const REMOTE_MS = 60_000;
const ANSWERS_MAX = 20;
const CANDIDATES_MAX = 10_000;

export function stampOf(directory: string | undefined): Stamp {
  return { directory, timeMs: directory === undefined ? Date.now() : changedAtMs(directory) };
}

function changedAtMs(directory: string): number {
  return statSync(directory, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Returns the candidates of an earlier answer, if the snapshots are still the same. */
export function findAnswer(path: string | undefined, question: string): readonly Candidate[] | undefined {
  const kept = readAnswers(path).find((answer) => answer.question === question);
  return kept !== undefined && isCurrent(kept) ? kept.candidates : undefined;
}

function isCurrent({ directory, timeMs }: Stamp): boolean {
  if (directory !== undefined) return timeMs === changedAtMs(directory);
  const ageMs = Date.now() - timeMs;
  return ageMs >= 0 && ageMs < REMOTE_MS;
}

/** Returns the content of the file with one more answer, in place of the oldest. */
export function withAnswer(path: string | undefined, answer: KeptAnswer): string | undefined {
  if (answer.candidates.length > CANDIDATES_MAX) return undefined;
  const others = readAnswers(path).filter(({ question }) => question !== answer.question);
  return JSON.stringify([answer, ...others.slice(0, ANSWERS_MAX - 1)]);
}

/** A file that is missing, damaged or of another build has no answers. */
function readAnswers(path: string | undefined): readonly KeptAnswer[] {
  if (path === undefined) return [];
  try {
    const answers: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return Array.isArray(answers) ? (answers as unknown[]).filter((answer) => isAnswer(answer)) : [];
  } catch {
    return [];
  }
}

function isAnswer(value: unknown): value is KeptAnswer {
  const { question, timeMs, candidates } = (value ?? {}) as Partial<Record<keyof KeptAnswer, unknown>>;
  return typeof question === 'string' && typeof timeMs === 'number' && Array.isArray(candidates);
}
