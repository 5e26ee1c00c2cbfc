import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TestContext } from 'vitest';

import { createPrng } from '../../support/prng.ts';
import { cleanEnvironment, ldmProgram } from '../../support/run-ldm.ts';
import { inSoak } from '../../support/soak.ts';
import { makeScenario } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';

/** Runs a shell command, in which `ldm` is the program. */
function shell({ directory, repository }: Scenario, line: string): { code: number | null; stderr: string } {
  const script = `ldm() { '${process.execPath}' '${ldmProgram}' "$@"; }; ${line}`;
  const env = cleanEnvironment({ LDM_REPOSITORY: repository });
  const { status, stderr } = spawnSync('sh', ['-c', script], { cwd: directory, env, encoding: 'utf8' });
  return { code: status, stderr };
}

/** Makes a block device with the content of a file. Skips the test where that is not possible. */
function makeBlockDevice(context: TestContext, file: string): string {
  const { status, stdout } = spawnSync('losetup', ['--find', '--show', file], { encoding: 'utf8' });
  const device = stdout?.trim();
  if (status !== 0 || !existsSync(device)) return context.skip('needs loop devices');
  onTestFinished(() => void spawnSync('losetup', ['--detach', device]));
  return device;
}

/** The kernel's log has a mode that lets everybody read it, but may be reserved for root all the same. */
function openDevice(context: TestContext, device: string): number {
  try {
    return openSync(device, 'r');
  } catch (error) {
    return context.skip(`cannot open ${device}: ${String(error)}`);
  }
}

const READERS = [
  'backup --stdin-name x',
  'import-tar -',
  'backup --files-from -',
  ...inSoak(['backup --files-from-raw -'], []),
];

describe('standard input', () => {
  it('may be a file, from the position that it has', async () => {
    const scenario = await makeScenario();
    const run = shell(scenario, '{ head -c 2 >/dev/null; ldm backup --stdin-name x; } <source/sub/b.txt');
    expect(run).toEqual({ code: 0, stderr: '' });
    expect((await scenario.run(['ls', '-l', 'latest'])).stdout).toMatch(/ 2 .* x\n$/);
  });

  it('may be a block device', async (context) => {
    const scenario = await makeScenario();
    const file = join(scenario.directory, 'image');
    writeFileSync(file, createPrng(5).bytes(3_000_000));
    truncateSync(file, 3 * 1024 * 1024);
    const device = makeBlockDevice(context, file);
    expect(shell(scenario, `ldm backup --stdin-name disk.img <${device}`)).toEqual({ code: 0, stderr: '' });
    expect(await scenario.run(['dump', 'latest:/disk.img', '-o', 'copy'])).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(join(scenario.directory, 'copy')).equals(readFileSync(file))).toBe(true);
  });

  it('may be a block device with an archive, or with a list', async (context) => {
    const scenario = await makeScenario();
    shell(scenario, 'tar -cf archive source; { echo source/a.txt; yes "" | head -c 511; } | head -c 512 >list');
    const [archive, list] = ['archive', 'list'].map((name) => makeBlockDevice(context, join(scenario.directory, name)));
    expect(shell(scenario, `ldm import-tar - <${archive}`)).toEqual({ code: 0, stderr: '' });
    expect((await scenario.run(['ls', 'latest'])).stdout).toContain('b.txt');
    expect(shell(scenario, `ldm backup --files-from - <${list}`)).toEqual({ code: 0, stderr: '' });
    expect((await scenario.run(['ls', 'latest'])).stdout).toContain('a.txt');
  });

  it.each(READERS)('must not be a directory: %s', async (command) => {
    const scenario = await makeScenario();
    const { code, stderr } = shell(scenario, `ldm ${command} <source`);
    expect(stderr).toContain('standard input is a directory');
    expect(code).toBe(2);
    expect((await scenario.run(['snapshots', '--json'])).stdout).not.toContain('"snapshot"');
  });

  it('must not be a datagram socket', async (context) => {
    const scenario = await makeScenario();
    const code = `import socket, subprocess, sys
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
sys.exit(subprocess.run(sys.argv[1:], stdin=one).returncode)`;
    if (spawnSync('python3', ['--version']).status !== 0) context.skip('needs python3');
    writeFileSync(join(scenario.directory, 'run.py'), code);
    const run = shell(scenario, `python3 run.py '${process.execPath}' '${ldmProgram}' backup --stdin-name x`);
    expect(run.stderr).toContain('standard input is a datagram socket');
    expect(run.code).toBe(2);
  });

  it.for(['/dev/zero', '/dev/kmsg'])('that does not end can be interrupted: %s', async (device, context) => {
    const { directory, repository } = await makeScenario();
    const stdin = openDevice(context, device);
    const args = [ldmProgram, 'backup', '--stdin-name', 'x', '--json'];
    const env = cleanEnvironment({ LDM_REPOSITORY: repository, LDM_PROGRESS_FPS: '50' });
    const child = spawn(process.execPath, args, { cwd: directory, env, stdio: [stdin, 'pipe', 'pipe'] });
    closeSync(stdin);
    onTestFinished(() => void child.kill('SIGKILL'));
    child.stdout!.once('data', () => child.kill('SIGINT'));
    child.stdout!.resume();
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(130);
  });
});
