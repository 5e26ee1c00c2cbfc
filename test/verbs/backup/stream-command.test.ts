import { describe, expect, it } from 'vitest';

import { waitUntil } from '../../support/wait-until.ts';
import { makeScenario } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';
import { startLdm } from '../../cli/start-ldm.ts';

const CONTENT = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251));

async function snapshotCount({ runJson }: Scenario): Promise<number> {
  return (await runJson(['snapshots'])).messages.filter(({ message_type: type }) => type === 'snapshot').length;
}

describe('--stdin-name', () => {
  it('saves a pipe', async () => {
    const scenario = await makeScenario();
    const backup = ['backup', '--stdin-name', 'dumps/all.sql', '--json'];
    expect(await scenario.runBuilt(backup, { input: CONTENT })).toMatchObject({ code: 0, stderr: '' });
    const { stdout } = await scenario.run(['ls', '-l', 'latest']);
    expect(stdout).toMatch(/^-rw------- .* 300000 .* all\.sql\n$/);
    const again = await scenario.runBuilt([...backup, '--skip-if-unchanged'], { input: CONTENT });
    expect(again.stdout).not.toContain('snapshot_id');
    expect(again.stdout).toContain('"dry_run":false');
    expect(await snapshotCount(scenario)).toBe(1);
    const empty = await scenario.runBuilt(['backup', '--stdin-name', 'empty'], { input: '' });
    expect(empty).toMatchObject({ code: 0, stderr: expect.stringContaining('standard input was empty') as string });
  });

  it('lets timers and signals through while the pipe stalls', async () => {
    const { directory, repository } = await makeScenario();
    const args = ['backup', '--stdin-name', 'x', '-r', repository, '--json'];
    const running = startLdm(args, { home: directory, env: { LDM_PROGRESS_FPS: '50' }, hasInput: true });
    running.child.stdin!.write('begun');
    // Written by a timer.
    await running.stdoutMatching(/(.*"status".*\n){5}/);
    running.child.kill('SIGINT');
    expect(await running.ended).toEqual({ code: 130, signal: null });
  });

  it.each([
    [['--stdin-name', 'x', 'path'], 2, 'cannot be combined'],
    [['--stdin-name', 'a/'], 2, 'not the name of a file'],
    [['--stdin-from-command'], 2, 'no command given'],
  ])('%j ends with %d', async (args, expected, message) => {
    const { run } = await makeScenario();
    const { code, stderr } = await run(['backup', ...args]);
    expect(code).toBe(expected);
    expect(stderr).toContain(message);
  });
});

describe('--stdin-from-command', () => {
  it('saves what a command prints', async () => {
    const scenario = await makeScenario();
    const script = 'test -z "$LDM_PASSWORD" && read x; seq 1 100000; echo beside >&2';
    const args = [
      '--no-encryption',
      'backup',
      '--stdin-name',
      'n.txt',
      '--stdin-from-command',
      '--',
      'sh',
      '-c',
      script,
    ];
    const { code, stderr } = await scenario.runBuilt(args, {
      input: 'not for the command',
      env: { LDM_PASSWORD: 'p' },
    });
    expect(stderr).toContain('beside\n');
    expect(code).toBe(0);
    expect((await scenario.run(['ls', '-l', 'latest'])).stdout).toMatch(/ 588895 .* n\.txt\n$/);
  });

  it.each([
    [['sh', '-c', 'seq 1 100000; exit 3'], 'failed with exit code 3'],
    [['sh', '-c', 'echo a; kill -9 $$'], 'was killed by SIGKILL'],
    [['sh', '-c', 'exec >&-; exit 1'], 'failed with exit code 1'],
    [['/nowhere/command'], 'cannot be run'],
    [['/'], 'cannot be run'],
  ])('makes no snapshot of %j', async (command, message) => {
    const scenario = await makeScenario();
    const { code, stderr } = await scenario.run(['backup', '--stdin-from-command', '--', ...command]);
    expect(stderr).toContain(`the command ${command[0]} ${message}`);
    expect(code).toBe(1);
    expect(await snapshotCount(scenario)).toBe(0);
  });

  it('does not start the command if the backup cannot begin', async () => {
    const { directory, run } = await makeScenario();
    const args = ['backup', '--stdin-from-command', '-r', `${directory}/nowhere`, '--', 'sh', '-c', 'echo ran >&2'];
    const { code, stderr } = await run(args);
    expect(code).toBe(10);
    expect(stderr).not.toContain('ran');
  });

  it('is interrupted together with the command', async () => {
    const { directory, repository } = await makeScenario();
    const script = 'echo process $$ >&2; exec sleep 1000';
    const args = ['backup', '--stdin-from-command', '-r', repository, '--', 'sh', '-c', script];
    const running = startLdm(args, { home: directory });
    const [, id] = /process (\d+)\n/.exec(await running.stderrMatching(/process \d+\n/))!;
    running.child.kill('SIGINT');
    expect((await running.ended).code).toBe(130);
    await waitUntil(() => !isRunning(Number(id)), 'the end of the command');
  });
});

function isRunning(id: number): boolean {
  try {
    process.kill(id, 0);
    return true;
  } catch {
    return false;
  }
}
