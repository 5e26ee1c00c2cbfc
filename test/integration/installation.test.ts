import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { makeScenario } from '../cli/scenario.ts';
import { createPrng } from '../support/prng.ts';
import { inSoak } from '../support/soak.ts';
import { makeText } from '../support/tree-paths.ts';
import { GONE, WITHOUT_NODE_ZSTD, withPackages, withoutZstdHere } from '../support/with-packages.ts';

/** As after `npm install --omit=optional` on Node 20: both load their native part from an optional package. */
const WITHOUT_NATIVE_PARTS = { koffi: GONE, '@toondepauw/node-zstd': GONE };

const IN_THREADS_ONLY = `(require('node:worker_threads').isMainThread ? original() : ${GONE})`;

/** The system's library, except that it never decompresses anything. */
const BROKEN_ZSTD = `({
  ...original(),
  load: (...args) => {
    const library = original().load(...args);
    return {
      func: (declaration) => {
        if (!declaration.includes('ZSTD_decompressDCtx')) return library.func(declaration);
        report('bound');
        return () => 0;
      },
    };
  },
})`;

const MISSING = /^ldm: zstd is missing from this installation of ldm[^\n]*\n[^\n]*npm install --include=optional\n$/;

const READING = [['check'], ['check', '--read-data'], ['backup', 'source'], ['delete', 'latest']];

/** Every file of a directory with a digest of its bytes. */
function fingerprint(directory: string): Record<string, string> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => statSync(join(directory, name)).isFile());
  const digestOf = (name: string): string =>
    createHash('sha256')
      .update(readFileSync(join(directory, name)))
      .digest('hex');
  return Object.fromEntries(files.map((name) => [name, digestOf(name)]));
}

describe('an installation without zstd', () => {
  test('opens no repository, says what to install, and changes nothing', async () => {
    const scenario = await makeScenario();
    await scenario.run(['backup', 'source']);
    const before = fingerprint(scenario.repository);
    const { run } = withPackages(scenario, WITHOUT_NATIVE_PARTS, WITHOUT_NODE_ZSTD);
    const [target, place] = [join(scenario.directory, 'target'), join(scenario.directory, 'another')];
    const commands = [
      // The suite runs these in its own process.
      ...inSoak(READING, []),
      ['repair'],
      ['restore', 'latest', '--target', target],
      ['init', '--no-encryption', '-r', place],
      // It is not even looked for.
      ['check', '-r', place],
    ];
    for (const args of commands) {
      const { code, stdout, stderr } = await run(...args);
      expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: '' });
      expect(stderr).toMatch(MISSING);
    }
    expect(fingerprint(scenario.repository)).toEqual(before);
    expect([target, place].filter((path) => existsSync(path))).toEqual([]);
    const { code } = await scenario.run(['check', '--read-data']);
    expect(code).toBe(0);
  });

  test('reads no repository in any command', async () => {
    const scenario = await makeScenario();
    await scenario.run(['backup', 'source']);
    const before = fingerprint(scenario.repository);
    withoutZstdHere();
    for (const args of READING) {
      const { code, stdout, stderr } = await scenario.run(args);
      expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: '' });
      expect(stderr).toMatch(MISSING);
    }
    expect(fingerprint(scenario.repository)).toEqual(before);
  });

  test('in its threads alone ends the command with the same error, and not with damage', async () => {
    const scenario = await makeScenario();
    // Whole blocks to compress start the threads.
    const text = makeText(createPrng(20261122), 12 * 1024 * 1024);
    writeFileSync(join(scenario.source, 'text'), text);
    const packages = { koffi: IN_THREADS_ONLY, '@toondepauw/node-zstd': GONE };
    const { run, reports } = withPackages(scenario, packages, WITHOUT_NODE_ZSTD);
    const { code, stderr } = await run('backup', 'source');
    expect(stderr).toMatch(MISSING);
    expect(code).toBe(1);
    expect(reports()).toContain('@toondepauw/node-zstd');
    expect((await scenario.run(['check'])).code).toBe(0);
  });
});

test('a zstd that does not work is passed over', async () => {
  const scenario = await makeScenario();
  await scenario.run(['backup', 'source']);
  const { run, reports } = withPackages(scenario, { koffi: BROKEN_ZSTD }, WITHOUT_NODE_ZSTD);
  const { code, stderr } = await run('check', '--read-data');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(reports()).toContain('bound');
});

test('without koffi everything works except FIFOs and nanoseconds, and a restore says so', async () => {
  const scenario = await makeScenario();
  execFileSync('mkfifo', [join(scenario.source, 'fifo')]);
  const { run, reports } = withPackages(scenario, { koffi: GONE });
  expect(await run('backup', 'source')).toMatchObject({ code: 0, stderr: '' });
  if (inSoak(true, false)) expect(await run('check', '--read-data')).toMatchObject({ code: 0, stderr: '' });
  const { code, stderr } = await run('restore', 'latest', '--target', 'target');
  expect(code).toBe(3);
  expect(stderr).toMatch(/^ldm: warning: modification times are restored to the millisecond only/m);
  expect(stderr).toMatch(/fifo.*needs the package koffi/);
  expect(readFileSync(join(scenario.directory, 'target', 'source', 'a.txt'), 'utf8')).toBe('alpha');
  expect(reports().length).toBeGreaterThan(0);
});
