import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { sha256 } from '../../src/core/crypto/sha256.ts';
import { decodeSnapshot, encodeSnapshot } from '../../src/core/format/snapshot.ts';
import { describeDeepTree, makeDeepTree, removeTree } from '../support/deep-tree.ts';
import { cleanEnvironment, ldmProgram } from '../support/run-ldm.ts';
import { temporaryDirectory } from '../support/temp-directory.ts';
import { filesOf, makeTestRepository } from '../support/test-repository.ts';

const REPORT = `process.on('exit', () => process.stderr.write('\\npeak ' + process.resourceUsage().maxRSS));`;

/** Runs the program; fails unless it ends with 0, and prints and returns the peak of its memory in MB. */
function run(directory: string, ...args: readonly string[]): number {
  const program = ['--import', `data:text/javascript,${encodeURIComponent(REPORT)}`, ldmProgram];
  const command = [...program, '-q', '-r', join(directory, 'repository'), ...args];
  const startMs = performance.now();
  const { status, stderr } = spawnSync(process.execPath, command, {
    encoding: 'utf8',
    env: cleanEnvironment({}),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  expect(status, stderr.slice(0, 2000)).toBe(0);
  const peakMb = Math.round((Number(/peak (\d+)$/.exec(stderr)?.[1]) * 1024) / 1e6);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  process.stdout.write(`  ${args[0]}: ${peakMb} MB, ${seconds} s\n`);
  return peakMb;
}

function makePlaces(): { readonly directory: string; readonly source: string; readonly target: string } {
  const directory = temporaryDirectory();
  const [source, target] = [join(directory, 'source'), join(directory, 'target')];
  mkdirSync(source);
  onTestFinished(() => removeTree(target));
  run(directory, 'init', '--no-encryption');
  return { directory, source, target };
}

describe.runIf(process.platform === 'linux')('memory', () => {
  it('100,000 nested directories with names of 250 bytes', () => {
    const { directory, source, target } = makePlaces();
    makeDeepTree(source, 100_000);
    for (const command of ['backup', 'backup']) expect(run(directory, command, source)).toBeLessThan(800);
    expect(run(directory, 'check', '--read-data')).toBeLessThan(400);
    expect(run(directory, 'restore', 'latest', '--target', target)).toBeLessThan(700);
    expect(describeDeepTree(join(target, 'source'))).toBe(describeDeepTree(source));
    expect(run(directory, 'delete', 'latest')).toBeLessThan(400);
    expect(run(directory, 'check')).toBeLessThan(400);
  });

  it('a million files in one directory', () => {
    const { directory, source, target } = makePlaces();
    for (let index = 0; index < 1_000_000; index += 1) writeFileSync(join(source, `file-${index}.dat`), '');
    for (const command of ['backup', 'backup']) expect(run(directory, command, source)).toBeLessThan(400);
    expect(run(directory, 'ls', 'latest')).toBeLessThan(400);
    expect(run(directory, 'check')).toBeLessThan(400);
    expect(run(directory, 'restore', 'latest', '--target', target)).toBeLessThan(400);
    expect(run(directory, 'delete', 'latest')).toBeLessThan(400);
    expect(run(directory, 'compact')).toBeLessThan(400);
  });

  it('20,000 snapshots', async () => {
    const repository = await makeTestRepository({}, temporaryDirectory());
    await repository.backup();
    const snapshots = join(repository.directory, 'repository', 'snapshots');
    const snapshot = decodeSnapshot(readFileSync(join(snapshots, filesOf(repository, 'snapshots')[0]!)));
    for (let index = 0; index < 20_000; index += 1) {
      const bytes = encodeSnapshot({ ...snapshot, nonce: `n${index}` });
      writeFileSync(join(snapshots, sha256(bytes)), bytes);
    }
    expect(run(repository.directory, 'snapshots')).toBeLessThan(250);
    expect(run(repository.directory, 'ls', 'latest')).toBeLessThan(250);
  });
});
