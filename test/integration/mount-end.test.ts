import { spawnSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import { makeScenario } from '../cli/scenario.ts';
import { startLdm } from '../cli/start-ldm.ts';
import { fuseProblem, isMounted, mountRepository } from '../support/fuse.ts';
import { createPrng } from '../support/prng.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { inSoak } from '../support/soak.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';
import { NEEDS_ROOT, isRoot } from '../support/unprivileged.ts';
import { waitUntil } from '../support/wait-until.ts';
import { GONE, withPackages } from '../support/with-packages.ts';

beforeEach(({ skip }) => skip(fuseProblem !== undefined, fuseProblem));

async function makeMountable(): Promise<TestRepository & { readonly place: string }> {
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'file'), 'content');
  await repository.backup();
  return { ...repository, place: join(repository.directory, 'repository') };
}

function fileIn(mountPoint: string, name = 'file'): string {
  return join(mountPoint, 'latest', 'source', name);
}

/** The kernel answers ECONNABORTED while the connection ends. */
const UNMOUNTED = /ENOTCONN|EIO|ECONNABORTED/;

/** Closing the file fails too if the mount has ended by then, and must not hide why the read failed. */
function readByte(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    readSync(descriptor, Buffer.alloc(1));
  } finally {
    try {
      closeSync(descriptor);
    } catch (error) {
      expect((error as Error).message).toMatch(UNMOUNTED);
    }
  }
}

function childrenOf(processId: number): number[] {
  return readFileSync(`/proc/${processId}/task/${processId}/children`, 'utf8').trim().split(' ').map(Number);
}

describe('a mount ends', () => {
  it.each(inSoak(['SIGINT', 'SIGTERM', 'SIGHUP'] as const, ['SIGINT'] as const))(
    'with exit 0 and unmounted after %s',
    async (signal) => {
      const { directory } = await makeMountable();
      const mounted = await mountRepository(directory);
      expect(readFileSync(fileIn(mounted.directory), 'utf8')).toBe('content');
      expect(await mounted.stop(signal)).toBe(0);
      expect(isMounted(mounted.directory)).toBe(false);
      expect(mounted.output()).toBe(
        `mounted 1 snapshot at ${mounted.directory}; Ctrl+C to unmount\nunmounted ${mounted.directory}\n`,
      );
      expect(mounted.problems()).toBe('');
    },
  );

  it('after it was unmounted by another program', async () => {
    const { directory, place } = await makeMountable();
    const mounted = await mountRepository(directory, { args: ['--json'] });
    expect(spawnSync('fusermount3', ['-u', '--', mounted.directory]).status).toBe(0);
    expect((await mounted.ended).code).toBe(0);
    expect(
      mounted
        .output()
        .split('\n')
        .filter((line) => !line.includes('"status"')),
    ).toEqual([
      JSON.stringify({ message_type: 'mounted', mountpoint: mounted.directory, snapshots_count: 1 }),
      JSON.stringify({ message_type: 'unmounted', mountpoint: mounted.directory, unmounted_by: 'outside' }),
      '',
    ]);
    expect(readdirSync(join(place, 'locks'))).toEqual([]);
  });

  it('also if a program has a file open, and says so', async () => {
    const mounted = await mountRepository((await makeMountable()).directory);
    const descriptor = openSync(fileIn(mounted.directory), 'r');
    expect(await mounted.stop('SIGTERM')).toBe(0);
    expect(mounted.problems()).toMatch(/unmounted while programs were using it/);
    expect(isMounted(mounted.directory)).toBe(false);
    expect(() => readSync(descriptor, Buffer.alloc(10))).toThrow(UNMOUNTED);
    expect(() => closeSync(descriptor)).toThrow(UNMOUNTED);
  });

  it('without a trace after a kill', async ({ skip }) => {
    skip(!isRoot, NEEDS_ROOT);
    const { directory, place } = await makeMountable();
    const mounted = await mountRepository(directory);
    await mounted.stop('SIGKILL');
    await waitUntil(() => !isMounted(mounted.directory), 'fusermount3 unmounts');
    expect(readdirSync(mounted.directory)).toEqual([]);
    // Its lock is that of a dead process.
    expect((await runLdmHere(['-r', place, 'compact'])).code).toBe(0);
  });
});

describe('a mount ends, and says why,', () => {
  it('when the repository disappears: the read that finds it fails', async () => {
    const { directory, place } = await makeMountable();
    const mounted = await mountRepository(directory);
    expect(statSync(fileIn(mounted.directory)).size).toBe(7);
    renameSync(place, `${place}-gone`);
    onTestFinished(() => renameSync(`${place}-gone`, place));
    expect(() => readByte(fileIn(mounted.directory))).toThrow(/EIO/);
    expect((await mounted.ended).code).toBe(10);
    expect(isMounted(mounted.directory)).toBe(false);
    expect(mounted.problems()).toContain(
      `ldm: the repository ${place} is no longer there\nMount it again when it is back.\n`,
    );
  });

  it('also if a program has a file open', async () => {
    const { directory, place } = await makeMountable();
    const mounted = await mountRepository(directory);
    const descriptor = openSync(fileIn(mounted.directory), 'r');
    renameSync(place, `${place}-gone`);
    onTestFinished(() => renameSync(`${place}-gone`, place));
    expect(() => readSync(descriptor, Buffer.alloc(10))).toThrow(/EIO/);
    expect((await mounted.ended).code).toBe(10);
    expect(isMounted(mounted.directory)).toBe(false);
    expect(mounted.problems()).toMatch(/unmounted while programs were using it[^]*is no longer there/);
    expect(() => closeSync(descriptor)).toThrow(UNMOUNTED);
  });
});

describe('a mount goes on', () => {
  it('when a file is damaged: reads of it fail, and others do not', async () => {
    const repository = await makeTestRepository();
    const prng = createPrng(3);
    for (const name of ['one', 'two']) {
      writeFileSync(join(repository.source, name), prng.bytes(200_000));
      // A snapshot for each has a pack for each.
      await repository.backup();
    }
    const packs = join(repository.directory, 'repository', 'packs');
    const files = readdirSync(packs, { recursive: true, encoding: 'utf8' })
      .map((name) => join(packs, name))
      .filter((path) => statSync(path).isFile() && statSync(path).size > 200_000);
    expect(files).toHaveLength(2);
    const damaged = readFileSync(files[0]!);
    damaged[100_000]! ^= 1;
    writeFileSync(files[0]!, damaged);
    const mounted = await mountRepository(repository.directory);
    const results = ['one', 'two'].map((name): string => {
      const expected = readFileSync(join(repository.source, name));
      try {
        return readFileSync(fileIn(mounted.directory, name)).equals(expected) ? 'right' : 'wrong';
      } catch (error) {
        return String((error as NodeJS.ErrnoException).code);
      }
    });
    expect(results.toSorted((a, b) => (a < b ? -1 : 1))).toEqual(['EIO', 'right']);
    await mounted.stderrMatching(/ldm check --read-data/);
  });

  it('while a compaction is told who holds the lock', async () => {
    const { directory, place } = await makeMountable();
    const mounted = await mountRepository(directory);
    const refused = await runLdmHere(['-r', place, 'compact']);
    expect(refused.code).toBe(11);
    expect(refused.stderr).toContain(`process ${mounted.child.pid}`);
    expect(refused.stderr).toContain('mount');
    const waiting = startLdm(['-r', place, 'compact', '--lock-wait', '1m'], { home: directory });
    await waiting.stderrMatching(/waiting for the lock/);
    expect(readFileSync(fileIn(mounted.directory), 'utf8')).toBe('content');
    expect(await mounted.stop('SIGHUP')).toBe(0);
    expect(isMounted(mounted.directory)).toBe(false);
    expect((await waiting.ended).code).toBe(0);
  });
});

describe('mount refuses', () => {
  it('what is not an empty directory outside the repository', async () => {
    const { directory, place, source } = await makeMountable();
    const inside = join(place, 'empty');
    mkdirSync(inside);
    for (const [name, reason] of [
      [join(directory, 'absent'), 'there is no such directory'],
      [join(source, 'file'), 'it is not a directory'],
      [source, 'the directory is not empty'],
      [inside, 'it is in the repository'],
    ] as const) {
      const { code, stderr } = await runLdmHere(['-r', place, 'mount', name]);
      expect(stderr).toMatch(new RegExp(`^ldm: cannot mount at ${name}: ${reason}\n`));
      expect(code).toBe(1);
    }
  });

  it('a dead mount, and says how to remove it', async () => {
    const { directory, place } = await makeMountable();
    const mounted = await mountRepository(directory);
    // Without the program that unmounts in this case.
    for (const child of childrenOf(mounted.child.pid!)) process.kill(child, 'SIGKILL');
    await mounted.stop('SIGKILL');
    expect(isMounted(mounted.directory)).toBe(true);
    const { code, stderr } = await runLdmHere(['-r', place, 'mount', mounted.directory]);
    expect(code).toBe(1);
    const command = /`(fusermount3 [^`]*)`/.exec(stderr)?.[1];
    expect(command).toBe(`fusermount3 -u ${mounted.directory}`);
    expect(spawnSync(command!.split(' ')[0]!, command!.split(' ').slice(1)).status).toBe(0);
    expect(isMounted(mounted.directory)).toBe(false);
  });

  it('to start without fusermount3, and points to what works without it', async () => {
    const { directory, place } = await makeMountable();
    const mountPoint = join(directory, 'mnt');
    mkdirSync(mountPoint);
    const { code, stderr } = await runLdmHere(['-r', place, 'mount', mountPoint], { env: { PATH: directory } });
    expect(code).toBe(1);
    expect(stderr).toContain('fusermount3 is not installed');
    expect(stderr).toMatch(/ldm restore.* or .*ldm dump/);
  });

  it('to start without koffi', async () => {
    const scenario = await makeScenario();
    const mountPoint = join(scenario.directory, 'mnt');
    mkdirSync(mountPoint);
    const { run } = withPackages(scenario, { koffi: GONE });
    const { code, stderr } = await run('mount', mountPoint);
    expect(stderr).toMatch(/needs the package koffi.*\n.*ldm restore/);
    expect(code).toBe(1);
  });
});
