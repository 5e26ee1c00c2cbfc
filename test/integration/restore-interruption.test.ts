import { linkSync, mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { CancelledError } from '../../src/core/errors.ts';
import type { RestoreOptions } from '../../src/verbs/restore/restore.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { startLdm } from '../cli/start-ldm.ts';
import type { RunningLdm } from '../cli/start-ldm.ts';
import { describeTree, diffTrees } from '../support/compare-trees.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { makeTemporaryDirectory, memoryDirectory } from '../support/temp-directory.ts';
import { inSoak } from '../support/soak.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';

const MIB = 1024 * 1024;
/** Of fewer, a restore can be done before anything else runs in this process. */
const ZEROS_BYTES = 256 * MIB;
/** By the directory that has them: a program is caught in the middle of many, and this process of a few. */
const LINK_COUNTS: Readonly<Record<string, number>> = { links: 20_000, few: inSoak(20_000, 1500) };
const LINKS_BEGUN = 100;

const directory = makeTemporaryDirectory();
let repository: TestRepository;
/** The descriptions of the directories in the source. */
const originals = new Map<string, ReadonlyMap<string, string>>();

/** One chunk thousands of times in one file, and files with thousands of names. */
beforeAll(async () => {
  repository = await makeTestRepository({ chunker: { kind: 'fixed', sizeBytes: 65_536 } }, directory);
  const { source } = repository;
  mkdirSync(join(source, 'zeros'));
  writeFileSync(join(source, 'zeros', 'file'), '');
  truncateSync(join(source, 'zeros', 'file'), ZEROS_BYTES);
  for (const [name, count] of Object.entries(LINK_COUNTS)) {
    mkdirSync(join(source, name));
    const first = join(source, name, 'first');
    writeFileSync(first, 'content of all names');
    for (let index = 0; index < count; index += 1) linkSync(first, join(source, name, `link-${index}`));
  }
  await repository.backup();
  for (const name of readdirSync(source)) originals.set(name, describeTree(join(source, name)));
});
afterAll(() => rmSync(directory, { recursive: true }));

interface Scene {
  readonly name: string;
  /** The part of the snapshot to restore. */
  readonly part: string;
  readonly isZeros: boolean;
  readonly sparse: boolean;
  /** Whether the restore is in the middle of it, by the names at the target. */
  readonly hasBegun: (names: readonly string[]) => boolean;
}

const isTemporary = (name: string): boolean => name.startsWith('.ldm-restore-');
const hasTemporary = (names: readonly string[]): boolean => names.some((name) => isTemporary(name));
const SCENES: readonly Scene[] = [
  { name: 'a file of zeros', part: 'zeros', isZeros: true, sparse: false, hasBegun: hasTemporary },
  { name: 'a file of zeros as a hole', part: 'zeros', isZeros: true, sparse: true, hasBegun: hasTemporary },
  {
    name: 'many hard links',
    part: 'few',
    isZeros: false,
    sparse: false,
    hasBegun: (names) => names.length > LINKS_BEGUN,
  },
];

/** For programs. */
const WRITTEN = SCENES.filter(({ sparse }) => !sparse).map(
  (scene) => [scene.name, { ...scene, part: scene.isZeros ? 'zeros' : 'links' }] as const,
);

function makeCommand({ part }: Scene): { readonly home: string; readonly target: string; readonly command: string[] } {
  const home = memoryDirectory();
  const target = join(home, 'target');
  mkdirSync(target);
  const restoring = ['restore', `latest:source/${part}`, '--target', target];
  return { home, target, command: ['-r', join(directory, 'repository'), ...restoring] };
}

/** Waits until a program is in the middle of a restore. */
async function begun({ child }: RunningLdm, { hasBegun }: Scene, target: string): Promise<void> {
  while (child.exitCode === null && !hasBegun(readdirSync(target)))
    await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Fails if the restore went on to the end, or left something that is not whole. */
function expectUnfinished({ part, isZeros }: Scene, target: string): void {
  const names = readdirSync(target);
  expect(hasTemporary(names)).toBe(false);
  if (isZeros) return expect(names).toEqual([]);
  expect(names.length).toBeGreaterThan(LINKS_BEGUN);
  expect(names.length).toBeLessThan(LINK_COUNTS[part]!);
  const restored = describeTree(target);
  const files = new Map([...originals.get(part)!].filter(([name]) => restored.has(name)));
  expect(diffTrees(files, restored, { ignoreRoot: true, ignore: ['hardlinkGroup'] })).toEqual([]);
  return expect(new Set(groupsIn(restored)).size).toBe(1);
}

function groupsIn(description: ReadonlyMap<string, string>): string[] {
  return [...description].flatMap(([path, entry]) =>
    path === '' ? [] : [(JSON.parse(entry) as { readonly hardlinkGroup: string }).hardlinkGroup],
  );
}

describe('an interruption ends a restore at once, and leaves nothing that is not whole', () => {
  it.each(SCENES.map((scene) => [scene.name, scene] as const))('in the middle of %s', async (_, scene) => {
    const { part, sparse, hasBegun } = scene;
    const target = memoryDirectory();
    const controller = new AbortController();
    // Runs only when the restore lets timers and signal handlers run.
    const watch = (): void => {
      if (hasBegun(readdirSync(target))) controller.abort(new CancelledError('SIGINT'));
      else next = setImmediate(watch);
    };
    let next = setImmediate(watch);
    const options: RestoreOptions = { selector: `latest:source/${part}`, target, sparse };
    const restoring = restore({ ...repository.context, signal: controller.signal }, options);
    await restoring.catch(() => undefined).finally(() => clearImmediate(next));
    await expect(restoring).rejects.toThrow(CancelledError);
    expectUnfinished(scene, target);
    // As holes: a comparison tells no difference.
    expect((await restore(repository.context, { ...options, sparse: true })).problems).toEqual([]);
    expect(diffTrees(originals.get(part)!, target, { ignoreRoot: true })).toEqual([]);
  });

  it.each(WRITTEN)('by SIGINT in the middle of %s, with exit 130', async (_, scene) => {
    const { target, command, home } = makeCommand(scene);
    const running = startLdm([...command, '--json'], { home });
    const stderr = running.stderrMatching(/"exit_error".*\n/);
    await begun(running, scene, target);
    running.child.kill('SIGINT');
    expect(JSON.parse(await stderr)).toMatchObject({ code: 130, message: 'interrupted by SIGINT' });
    expect(await running.ended).toEqual({ code: 130, signal: null });
    expectUnfinished(scene, target);
  });
});

describe('a restore that was killed goes on with the same command', () => {
  it.each(WRITTEN)('in the middle of %s', async (_, scene) => {
    const { target, command, home } = makeCommand(scene);
    const running = startLdm(command, { home });
    await begun(running, scene, target);
    running.child.kill('SIGKILL');
    expect(await running.ended).toEqual({ code: null, signal: 'SIGKILL' });
    const names = readdirSync(target);
    expect(names.length).toBeLessThan(LINK_COUNTS['links']!);
    expect(names).not.toContain('file');
    expect(await runLdmHere(command)).toMatchObject({ code: 0 });
    for (const name of readdirSync(target).filter((left) => isTemporary(left))) rmSync(join(target, name));
    expect(diffTrees(originals.get(scene.part)!, target, { ignoreRoot: true })).toEqual([]);
  });
});
