import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

import { describe, expect, onTestFinished, test } from 'vitest';

import { currentLockOwner, ownerState } from '../../../../src/core/repository/locks/lock-owner.ts';
import type { LockOwner } from '../../../../src/core/repository/locks/lock-owner.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const self = currentLockOwner();
const isLinux = process.platform === 'linux';

function other(changes: Partial<LockOwner>): LockOwner {
  return { ...self, ...changes };
}

/** The id of a process that is over. */
async function endedPid(): Promise<number> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(child, 'exit');
  return child.pid ?? 0;
}

test('the owner is this process', () => {
  expect(self.host).toBe(hostname());
  expect(self.pid).toBe(process.pid);
  expect(ownerState(self, self)).toBe('running');
});

test.runIf(isLinux)('on Linux every field that tells processes apart is known', () => {
  expect(self.bootId).toMatch(/^[0-9a-f]{32}$/);
  expect(self.pidNamespace).toMatch(/^\d+$/);
  expect(self.startTime).toMatch(/^\d+$/);
});

describe('on the same boot', () => {
  test('a process that is over is dead', async () => {
    expect(ownerState(other({ pid: await endedPid() }), self)).toBe('dead');
  });

  test.runIf(isLinux)('a process with the same id that started at another time is another one', () => {
    expect(ownerState(other({ startTime: '1' }), self)).toBe('dead');
  });

  test('a process whose start time is not known counts as running while its id exists', () => {
    expect(ownerState(other({ startTime: '' }), self)).toBe('running');
  });

  test('a process of another user runs too', () => {
    // The first process belongs to root; as another user it may not be signalled, which is not the same as absent.
    expect(ownerState(other({ pid: 1, startTime: '' }), self)).toBe('running');
  });

  test.runIf(isLinux)('a killed process that nobody has waited for yet is dead', async () => {
    // The shell starts a child and becomes a program that never waits for it.
    const script = 'sleep 1000 & echo $!; exec sleep 1000';
    const parent = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const [output] = (await once(parent.stdout, 'data')) as [unknown];
    const pid = Number(String(output));
    const startTime = startTimeOf(pid);
    expect(ownerState(other({ pid, startTime }), self)).toBe('running');
    // Until it is `sleep`, the shell would wait for a child that ends.
    await waitUntil(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n', 'the shell being sleep');
    process.kill(pid, 'SIGKILL');
    await waitUntil(() => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '), 'the child being a zombie');
    expect(ownerState(other({ pid, startTime }), self)).toBe('dead');
  });

  test('in another pid namespace nothing is known, even if the id does not exist here', async () => {
    expect(ownerState(other({ pidNamespace: '1', pid: await endedPid() }), self)).toBe('unknown');
  });
});

describe('on another boot', () => {
  const boots = { machineId: 'machine', bootId: 'now' };

  test('of the same machine id a process may run: cloned machines share the id', () => {
    expect(ownerState(other({ ...boots, bootId: 'before' }), other(boots))).toBe('other-boot');
  });

  test.each([
    ['the machine id is not known', { machineId: '', bootId: 'before' }, { machineId: '', bootId: 'now' }],
    ['its boot is not known', { machineId: 'machine', bootId: '' }, boots],
    ['our boot is not known', { machineId: 'machine', bootId: 'before' }, { machineId: 'machine', bootId: '' }],
    ['it is another machine', { machineId: 'another', bootId: 'before' }, boots],
    ['it has another host name', { machineId: 'machine', bootId: 'before', host: 'another' }, boots],
  ])('nothing is known when %s', (_, ownerChanges, selfChanges) => {
    expect(ownerState(other(ownerChanges), other(selfChanges))).toBe('unknown');
  });

  test('a host name alone does not make the same machine', async () => {
    const nameless = { machineId: '', bootId: '' };
    expect(ownerState(other({ ...nameless, pid: await endedPid() }), other(nameless))).toBe('unknown');
  });
});

function startTimeOf(pid: number): string {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}
