import { createHash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { lstatSync, readFileSync, readdirSync, readlinkSync, unlinkSync } from 'node:fs';
import { fsPath, joinPath } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { errnoOf } from '../paths/path-failures.ts';

const PREFIX = '.ldm-restore-';
const ASIDE_PREFIX = '.ldm-set-aside-';
const WORK_NAME = /^\.ldm-restore-(?<pid>[0-9a-z]+)_(?<space>[0-9a-f]{8})_(?<machine>[0-9a-f]{8})_[0-9a-z]+_[0-9a-z]+$/;

/** Computed once for a thread: a new random part for every name would cost 2 us. */
let namePrefix: string | undefined;
let nameCount = 0;
let known: { readonly space: string; readonly machine: string } | undefined;

/** Returns a new temporary name. It tells which process uses it. */
export function temporaryName(): string {
  namePrefix ??= makePrefix();
  nameCount += 1;
  return namePrefix + nameCount.toString(36);
}

/** Returns a new name for something that is moved out of the way. No restore takes it for abandoned. */
export function setAsideName(): string {
  return temporaryName().replace(PREFIX, ASIDE_PREFIX);
}

/** Returns whether a restore may have used this temporary name. */
export function isWorkName(name: ByteString): boolean {
  return name.startsWith(PREFIX);
}

/** Returns whether a restore has set something aside under this name. */
export function isSetAsideName(name: ByteString): boolean {
  return name.startsWith(ASIDE_PREFIX);
}

function makePrefix(): string {
  const { space, machine } = whereWeRun();
  return `${PREFIX}${process.pid.toString(36)}_${space}_${machine}_${randomBytes(4).toString('hex')}_`;
}

/** `space`: the processes among which a process id is unique, those of a boot in a namespace. */
function whereWeRun(): { readonly space: string; readonly machine: string } {
  known ??= {
    space: digestOf(() => readText('/proc/sys/kernel/random/boot_id') + readlinkSync('/proc/self/ns/pid', 'latin1')),
    machine: digestOf(() => readText('/etc/machine-id') + hostname()),
  };
  return known;
}

/** If the system does not tell, the digest is random: then it is unknown whether the process still runs. */
function digestOf(identify: () => string): string {
  try {
    return createHash('sha256').update(identify()).digest('hex').slice(0, 8);
  } catch {
    return randomBytes(4).toString('hex');
  }
}

function readText(path: string): string {
  return readFileSync(path, 'latin1');
}

/**
 * Removes the temporary files that killed restores have left in a directory, if their process has ended, or if they are
 * older than the last start of this machine. What was set aside stays: it may be all that is left of something. Also
 * keeps the names for which `isKept` returns true. Ignores errors.
 */
export function removeAbandonedWork(directory: ByteString, isKept: (name: ByteString) => boolean): void {
  for (const name of workNamesIn(directory)) {
    const path = fsPath(joinPath(directory, name));
    try {
      const { ctimeMs } = lstatSync(path);
      // For a directory, this fails.
      if (!isKept(name) && isAbandoned(name, ctimeMs)) unlinkSync(path);
    } catch {
      // Another process was faster, or the permissions are missing.
    }
  }
}

function workNamesIn(directory: ByteString): ByteString[] {
  try {
    return (readdirSync(fsPath(directory), 'latin1') as ByteString[]).filter((name) => isWorkName(name));
  } catch {
    return [];
  }
}

function isAbandoned(name: ByteString, changedMs: number): boolean {
  const { pid, space, machine } = WORK_NAME.exec(name)?.groups ?? {};
  if (pid === undefined) return false;
  const here = whereWeRun();
  if (space === here.space) return !isRunning(parseInt(pid, 36));
  return machine === here.machine && changedMs < bootSeconds() * 1000;
}

/** When the system started, since 1970. */
function bootSeconds(): number {
  return Number(/^btime (\d+)$/m.exec(readText('/proc/stat'))?.[1] ?? 0);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) !== 'ESRCH';
  }
}
