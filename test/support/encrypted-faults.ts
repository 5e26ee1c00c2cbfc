import assert from 'node:assert/strict';
import { exitCodeOfCheck } from '../../src/verbs/check/report.ts';
import { LdmError } from '../../src/core/errors.ts';
import { check } from '../../src/verbs/check/check.ts';
import { inTurn } from './aftermath.ts';
import { tryRestoreIn } from './damage.ts';
import { STAGE_PASSWORD, contextOf } from './encrypted-stage.ts';
import type { EncryptedStage } from './encrypted-stage.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { testPassword } from './test-password.ts';

/** What somebody who can write to the storage does to an encrypted repository. */
export interface Fault {
  readonly name: string;
  /** The files that it changes, adds or removes. */
  readonly files: readonly string[];
  readonly apply: (disk: MemoryBackend) => void;
  /** Whether the password is tried on the key files again, which takes a quarter of a second. */
  readonly unlocksAgain?: boolean;
}

/** How a fault shows. */
export interface Verdict {
  /** The kinds of the findings, or the error of the check. Empty if the check says nothing. */
  readonly reported: readonly string[];
  /** What a restore gave that is not what was backed up, although it said nothing. */
  readonly wrong: readonly string[];
  /** Whether every restore gave everything; in the suite, only one is tried where something is reported. */
  readonly isWhole: boolean;
}

export async function judge(stage: EncryptedStage, fault: Fault): Promise<Verdict> {
  const disk = stage.backend.copy();
  fault.apply(disk);
  assert.deepEqual(changedNames(stage.backend, disk), fault.files.toSorted(), `${fault.name} was not applied`);
  const password = fault.unlocksAgain === true ? testPassword(STAGE_PASSWORD) : stage.password;
  const reported = await reportsOf(disk, password);
  const wrong: string[] = [];
  let isWhole = true;
  // What was not reported must cost nothing at all.
  const restored = reported.length === 0 ? [...stage.trees] : inTurn(stage, [...stage.trees]);
  for (const [id, tree] of restored) {
    const outcome = await tryRestoreIn(contextOf(disk, password), id, tree);
    wrong.push(...outcome.wrong);
    isWhole &&= outcome.isClaimedWhole;
  }
  return { reported, wrong, isWhole };
}

async function reportsOf(disk: MemoryBackend, password: EncryptedStage['password']): Promise<string[]> {
  try {
    const result = await check(contextOf(disk, password), { readData: true });
    const kinds = result.findings.map(({ kind }) => kind);
    return exitCodeOfCheck(result) === 0 ? [] : [...new Set<string>(kinds)];
  } catch (error) {
    // Only an error that a person can read is a report.
    if (!(error instanceof LdmError)) throw error;
    return [error.code];
  }
}

/** The names of the files that differ between two places, sorted. */
function changedNames(before: MemoryBackend, after: MemoryBackend): string[] {
  const names = new Set([...before.names(), ...after.names()]);
  return [...names].filter((name) => !isSame(viewOf(before, name), viewOf(after, name))).sort();
}

function viewOf(disk: MemoryBackend, name: string): Buffer | undefined {
  return disk.has(name) ? disk.view(name) : undefined;
}

/** Copies of a disk share what is the same in all of them. */
function isSame(before: Buffer | undefined, after: Buffer | undefined): boolean {
  return before === after || (before !== undefined && after !== undefined && before.equals(after));
}

/** Files in which faults do not matter. */
const UNIMPORTANT = /^(reserve|locks\/.*)$/;

export function importantNames(backend: MemoryBackend): string[] {
  return backend.names().filter((name) => !UNIMPORTANT.test(name));
}

export function flipped(backend: MemoryBackend, file: string, bit: number): Fault {
  const apply = (disk: MemoryBackend): void => {
    const bytes = disk.peek(file)!;
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    disk.poke(file, bytes);
  };
  return { name: `${file}: bit ${bit & 7} of byte ${bit >> 3} of ${backend.peek(file)!.length}`, files: [file], apply };
}

export function truncated(file: string, lengthBytes: number): Fault {
  const apply = (disk: MemoryBackend): void => disk.poke(file, disk.peek(file)!.subarray(0, lengthBytes));
  return { name: `${file}: cut to ${lengthBytes}`, files: [file], apply };
}

export function deleted(file: string): Fault {
  const apply = (disk: MemoryBackend): void => void disk.unlink(file);
  return { name: `${file}: deleted`, files: [file], apply, unlocksAgain: isKey(file) };
}

export function swapped(first: string, second: string): Fault {
  const apply = (disk: MemoryBackend): void => {
    const [a, b] = [disk.peek(first)!, disk.peek(second)!];
    disk.poke(first, b);
    disk.poke(second, a);
  };
  const unlocksAgain = isKey(first) || isKey(second);
  return { name: `${first} and ${second}: swapped`, files: [first, second], apply, unlocksAgain };
}

/** Puts files of another repository, or of another time, under their names. */
export function put(what: string, files: ReadonlyMap<string, Buffer>): Fault {
  const apply = (disk: MemoryBackend): void => files.forEach((bytes, name) => disk.poke(name, bytes));
  const names = [...files.keys()];
  return { name: `${names.join(', ')}: ${what}`, files: names, apply, unlocksAgain: names.some(isKey) };
}

function isKey(file: string): boolean {
  return file.startsWith('keys/');
}
