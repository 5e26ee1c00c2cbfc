import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { RepositoryLock } from '../../src/core/repository/locks/lock.ts';
import { makeEndlessHome } from '../cli/endless-backup.ts';
import { makeScenario, parseJsonLines } from '../cli/scenario.ts';
import { startLdm, startLdmWithNohup } from '../cli/start-ldm.ts';
import type { RunningLdm } from '../cli/start-ldm.ts';

/** A backup that has begun and would not end by itself. */
async function startEndlessBackup(): Promise<RunningLdm> {
  const home = makeEndlessHome();
  const running = startLdm(['backup', join(home, 'work'), '--json'], { home, env: { LDM_PROGRESS_FPS: '20' } });
  await running.stdoutMatching(/"files_done":1/);
  return running;
}

describe('signals', () => {
  it.each([
    ['SIGINT', 130, ', after a SIGUSR1', true],
    ['SIGTERM', 143, '', false],
    ['SIGHUP', 129, '', false],
  ] as const)('%s ends a backup with exit %d, no snapshot and no stack%s', async (signal, expectedCode, _, isAsked) => {
    const running = await startEndlessBackup();
    // It prints a status line, and changes nothing else.
    if (isAsked) running.child.kill('SIGUSR1');
    const status = isAsked ? await running.stderrMatching(/\n/) : '';
    running.child.kill(signal);
    const stderr = await running.stderrMatching(/exit_error.*\n/);
    expect(parseJsonLines(status)).toEqual(isAsked ? [expect.objectContaining({ message_type: 'status' })] : []);
    expect(parseJsonLines(stderr.slice(status.length))).toEqual([
      expect.objectContaining({ message_type: 'exit_error', code: expectedCode, message: `interrupted by ${signal}` }),
    ]);
    expect(await running.ended).toEqual({ code: expectedCode, signal: null });
    expect(await running.stdoutMatching(/status/)).not.toContain('"summary"');
  });

  it('SIGHUP does not end a backup that nohup started', async () => {
    const home = makeEndlessHome();
    const running = startLdmWithNohup(['backup', join(home, 'work'), '--json'], { home });
    await running.stdoutMatching(/"files_done":1/);
    running.child.kill('SIGHUP');
    running.child.kill('SIGUSR1');
    expect(await running.stderrMatching(/"status".*\n/)).not.toContain('exit_error');
    running.child.kill('SIGTERM');
    expect(await running.ended).toEqual({ code: 143, signal: null });
  });

  it('the second ends it at once, whatever it is busy with', async () => {
    const running = await startEndlessBackup();
    // Both are there when it goes on.
    for (const signal of ['SIGSTOP', 'SIGINT', 'SIGTERM', 'SIGCONT'] as const) running.child.kill(signal);
    // In which order the system delivers them is up to it.
    const { code, signal } = await running.ended;
    expect(code).toBeNull();
    expect(['SIGINT', 'SIGTERM']).toContain(signal);
  });

  it('end the wait for a lock', async () => {
    const { directory, repository, source } = await makeScenario();
    const lock = await RepositoryLock.acquire(new LocalBackend(repository), { mode: 'exclusive' });
    try {
      const running = startLdm(['backup', source, '-r', repository, '--lock-wait', '1h'], { home: directory });
      expect(await running.stderrMatching(/\n/)).toContain(`${process.pid}`);
      running.child.kill('SIGINT');
      expect(await running.ended).toEqual({ code: 130, signal: null });
    } finally {
      await lock.release();
    }
  });
});
