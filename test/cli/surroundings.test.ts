import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { getPriority } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { cleanEnvironment, ldmProgram } from '../support/run-ldm.ts';
import { inSoak } from '../support/soak.ts';
import { makeTemporaryDirectory } from '../support/temp-directory.ts';
import { makeScenario } from './scenario.ts';
import type { Scenario } from './scenario.ts';

/** Runs a line of shell in the directory of a scenario; `ldm` is the program. */
function shell({ directory, repository }: Scenario, line: string) {
  const env = cleanEnvironment({ LDM_REPOSITORY: repository });
  const script = `ldm() { '${process.execPath}' '${ldmProgram}' "$@"; }\n${line}`;
  const { status, stdout, stderr } = spawnSync('sh', ['-c', script], { cwd: directory, env, encoding: 'utf8' });
  return { code: status, stdout, stderr };
}

/** Makes the next program say on stderr how nice it was. */
const REPORT = 'import os from "node:os"; process.on("exit", () => process.stderr.write(`nice ${os.getPriority()}`))';
const reporting = `NODE_OPTIONS='--import data:text/javascript,${encodeURIComponent(REPORT)}'`;

let scenario: Scenario;
let backedUp: ReturnType<typeof shell>;

beforeAll(async () => {
  scenario = await makeScenario(makeTemporaryDirectory());
  backedUp = shell(scenario, `${reporting} ldm backup source`);
});

afterAll(() => rmSync(scenario.directory, { recursive: true, force: true }));

describe('in a directory that was deleted', () => {
  const GONE = 'mkdir gone && cd gone && rmdir ../gone && ldm';

  it('commands with absolute paths work', () => {
    const { source, directory } = scenario;
    const lines = [`backup '${source}'`, ...inSoak([`backup -n '${source}/*.txt'`, 'check', 'snapshots'], [])];
    for (const line of [...lines, `restore latest -t '${directory}/target'`]) {
      expect(shell(scenario, `${GONE} ${line}`), line).toMatchObject({ code: 0, stderr: '' });
    }
    expect(existsSync(`${directory}/target/source/a.txt`)).toBe(true);
  });

  it.each(['restore latest', '-r repository snapshots', ...inSoak(['backup a.txt'], [])])('%s is refused', (line) => {
    const { code, stdout, stderr } = shell(scenario, `${GONE} ${line}`);
    expect(stderr).toBe(
      'ldm: the current directory does not exist any more\nChange to another directory, or give absolute paths.\n',
    );
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });
});

describe('the priority of a backup', () => {
  it('is that of the shell, and the lowest with --low-priority', () => {
    const own = getPriority();
    expect(backedUp.stderr).toBe(`nice ${own}`);
    expect(shell(scenario, `${reporting} ldm backup source --low-priority`).stderr).toBe(`nice ${Math.max(19, own)}`);
  });
});

describe.runIf(existsSync('/dev/full'))('where stdout takes nothing', () => {
  it('a backup fails, and says that its snapshot was saved', async () => {
    const { code, stderr } = shell(scenario, 'ldm backup source --tag full > /dev/full');
    const listed = (await scenario.run(['snapshots', '--tag', 'full'])).stdout;
    const id = /^[0-9a-f]{8}/m.exec(listed)![0];
    expect(stderr).toBe(
      `ldm: cannot write to standard output: no space left on device (ENOSPC)\nSnapshot ${id} was saved.\n`,
    );
    expect(code).toBe(1);
  });

  it('with --json, stderr has it as an object', () => {
    const { code, stderr } = shell(scenario, 'ldm backup source --json > /dev/full');
    expect(JSON.parse(stderr)).toMatchObject({
      message_type: 'exit_error',
      code: 1,
      message: 'cannot write to standard output: no space left on device (ENOSPC)',
      hint: expect.stringMatching(/^Snapshot [0-9a-f]{8} was saved\.$/),
    });
    expect(code).toBe(1);
  });

  it.each(['--json version', '--help', ...inSoak(['version', '-V', 'check --help'], [])])(
    '%s fails without a stack trace',
    (line) => {
      const { code, stderr } = shell(scenario, `ldm ${line} > /dev/full`);
      expect(stderr).toContain('cannot write to standard output: no space left on device (ENOSPC)');
      expect(stderr.trim().split('\n')).toHaveLength(1);
      expect(code).toBe(1);
    },
  );

  it('a command that has nothing to print succeeds', () => {
    expect(shell(scenario, 'ldm -q check > /dev/full')).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('a refused command that printed nothing gives only its own reason', () => {
    const { code, stderr } = shell(scenario, 'ldm -r nowhere snapshots > /dev/full');
    expect(stderr).not.toContain('standard output');
    expect(code).toBe(10);
  });

  it('a command that changed nothing only fails', () => {
    const { code, stderr } = shell(scenario, 'ldm backup -n source > /dev/full');
    expect(stderr).toBe('ldm: cannot write to standard output: no space left on device (ENOSPC)\n');
    expect(code).toBe(1);
  });
});

it.each(['--help', 'ls latest', ...inSoak(['version', '--json version'], [])])(
  '%s succeeds if the reader has gone',
  (line) => {
    const { code, stderr } = shell(scenario, `{ ldm ${line}; echo "code $?" >&2; } | true`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'code 0\n' });
  },
);
