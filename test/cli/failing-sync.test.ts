import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';

import { cleanEnvironment, ldmProgram } from '../support/run-ldm.ts';
import { temporaryDirectory } from '../support/temp-directory.ts';
import { testNeeding } from '../support/tools.ts';
import { makeScenario } from './scenario.ts';

/** strace would leave the program running if it were killed itself. */
const LIMIT = ['timeout', '-s', 'KILL', '300'];
const hasStrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;
const noStrace = hasStrace ? '' : 'strace is missing or not allowed';

/** Runs ldm with stdout and stderr in files that cannot be synced, as on a full or failing disk. */
function runUnsynced(args: readonly string[], env: Readonly<Record<string, string>>) {
  const directory = temporaryDirectory();
  const [log, out, err] = ['strace.log', 'out', 'err'].map((name) => join(directory, name)) as [string, string, string];
  const descriptors = [out, err].map((path) => openSync(path, 'w'));
  const tracing = ['-f', '-o', log, '-P', out, '-P', err, '-e', 'trace=fsync', '-e', 'inject=fsync:error=EIO'];
  const { status, signal } = spawnSync('strace', [...tracing, ...LIMIT, process.execPath, ldmProgram, ...args], {
    env: cleanEnvironment(env),
    stdio: ['ignore', ...descriptors],
  });
  for (const descriptor of descriptors) closeSync(descriptor);
  const [stdout, stderr] = [out, err].map((path) => readFileSync(path, 'utf8'));
  return {
    result: { status, signal, stderr },
    stdout,
    injectedCount: readFileSync(log, 'utf8').split('INJECTED').length - 1,
  };
}

describe('a command whose stdout and stderr cannot be synced', () => {
  testNeeding(noStrace)('ends with its result and exit code', async () => {
    const { source, repository } = await makeScenario();
    const env = { LDM_REPOSITORY: repository };
    const saved = runUnsynced(['backup', source], env);
    expect(saved.result).toEqual({ status: 0, signal: null, stderr: '' });
    expect(saved.stdout).toMatch(/^snapshot [0-9a-f]{8} saved/m);
    expect(saved.injectedCount).toBeGreaterThan(0);
    const incomplete = runUnsynced(['backup', source, join(source, 'absent')], env);
    expect(incomplete.result).toMatchObject({ status: 3, signal: null });
    expect(incomplete.injectedCount).toBeGreaterThan(0);
    const failed = runUnsynced(['restore', 'deadbeef', '--target', join(source, 'target')], env);
    expect(failed.result).toMatchObject({ status: 1, signal: null, stderr: expect.stringMatching(/^ldm: /) as string });
    expect(failed.injectedCount).toBeGreaterThan(0);
  });
});
