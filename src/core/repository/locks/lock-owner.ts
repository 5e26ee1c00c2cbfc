import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { runProgram } from '../../util/programs.ts';

/** The process that holds a lock. On the same machine, others see whether it still runs. Unknown fields are empty. */
export interface LockOwner {
  readonly host: string;
  /** Identifies the installation of the operating system. It does not change with a reboot. */
  readonly machineId: string;
  /** Random, new with every boot. */
  readonly bootId: string;
  /** A process id is unique only within its namespace (containers). */
  readonly pidNamespace: string;
  readonly pid: number;
  /** Clock ticks from boot to process start. Distinguishes the process from a later one with the same id. */
  readonly startTime: string;
}

/**
 * 'unknown': this process cannot see whether the owner still runs. 'other-boot': the owner ran on this machine before a
 * restart, or runs on a clone of it, which has the same machine id.
 */
export type OwnerState = 'running' | 'dead' | 'other-boot' | 'unknown';

let ownerOfThisProcess: LockOwner | undefined;

/** Returns this process as the owner of a lock. */
export function currentLockOwner(): LockOwner {
  ownerOfThisProcess ??= {
    host: hostname(),
    ...machineAndBoot(),
    pidNamespace: pidNamespace(),
    pid: process.pid,
    startTime: readProcess('self')?.startTime ?? '',
  };
  return ownerOfThisProcess;
}

/** Returns the state of `other` as seen from `self`. It is 'dead' only if that is certain. */
export function ownerState(other: LockOwner, self: LockOwner): OwnerState {
  if (isSameBoot(other, self)) {
    return other.pidNamespace === self.pidNamespace ? processState(other) : 'unknown';
  }
  const isSameMachine = other.machineId !== '' && other.machineId === self.machineId && other.host === self.host;
  return isSameMachine && isOtherBoot(other, self) ? 'other-boot' : 'unknown';
}

function isSameBoot(other: LockOwner, self: LockOwner): boolean {
  const isSame = other.host === self.host && other.machineId === self.machineId && other.bootId === self.bootId;
  // The same host name is not enough: two machines may share it.
  return isSame && (self.bootId !== '' || self.machineId !== '');
}

function isOtherBoot(other: LockOwner, self: LockOwner): boolean {
  return other.bootId !== '' && self.bootId !== '' && other.bootId !== self.bootId;
}

function processState(owner: LockOwner): OwnerState {
  if (!processExists(owner.pid)) return 'dead';
  // If /proc belongs to another namespace, its ids refer to other processes.
  const found = isProcOfThisNamespace() ? readProcess(String(owner.pid)) : undefined;
  if (found === undefined) return 'running';
  const isAnotherProcess = owner.startTime !== '' && found.startTime !== owner.startTime;
  return isAnotherProcess || found.isZombie ? 'dead' : 'running';
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process runs, as another user.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

function isProcOfThisNamespace(): boolean {
  try {
    return readlinkSync('/proc/self') === String(process.pid);
  } catch {
    return false;
  }
}

/** Reads /proc/<pid>/stat. Returns undefined if it is missing or hidden from this user. */
function readProcess(pid: string): { startTime: string; isZombie: boolean } | undefined {
  const text = readText(`/proc/${pid}/stat`);
  // The second field is the program name in parentheses, which may itself contain parentheses and spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  const startTime = fields[22 - 3];
  if (state === undefined || startTime === undefined) return undefined;
  return { startTime, isZombie: state === 'Z' || state === 'X' };
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '');
  } catch {
    return '';
  }
}

function machineAndBoot(): { machineId: string; bootId: string } {
  if (process.platform === 'darwin') return machineAndBootOfMacos();
  return {
    machineId: readText('/etc/machine-id'),
    bootId: readText('/proc/sys/kernel/random/boot_id').replaceAll('-', ''),
  };
}

function machineAndBootOfMacos(): { machineId: string; bootId: string } {
  try {
    const words = ['/usr/sbin/sysctl', '-n', 'kern.uuid', 'kern.bootsessionuuid'];
    const output = runProgram(words, { environment: {} }).stdout.toString();
    const [machineId = '', bootId = ''] = output.replaceAll('-', '').split('\n');
    return { machineId, bootId };
  } catch {
    return { machineId: '', bootId: '' };
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}
