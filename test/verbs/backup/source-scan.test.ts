import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';

import type { ExclusionOptions } from '../../../src/core/sources/exclusion.ts';
import { countSources } from '../../../src/verbs/backup/source-count.ts';
import type { CountScope } from '../../../src/verbs/backup/source-count.ts';
import { announceTotals } from '../../../src/verbs/backup/source-scan.ts';
import { planSources } from '../../../src/core/sources/source-plan.ts';
import { createProgress } from '../../../src/core/session/progress.ts';
import type { Progress } from '../../../src/core/session/progress.ts';
import { TaskPool } from '../../../src/core/workers/task-pool.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { threadsOfTests } from '../../support/test-threads.ts';

/** Against a thread that never answers. */
const COUNT_TIMEOUT_MS = 60_000;

async function scopeOf(repository: TestRepository, sources: string[], excluded: ExclusionOptions): Promise<CountScope> {
  const plan = await planSources(sources, '/', () => undefined);
  return { plan, excluded, repositoryPlace: repository.context.backend.localDirectory };
}

/** Compares what is counted with what a backup with the same sources and rules saves. Returns its bytes. */
async function expectTotals(repository: TestRepository, sources: string[], rules: ExclusionOptions): Promise<number> {
  const totals = countSources(await scopeOf(repository, sources, rules), () => false);
  const { summary } = await repository.backup({ sources, ...rules });
  const { totalFilesProcessed: fileCount, totalBytesProcessed: bytes } = summary;
  expect(totals).toEqual({ fileCount, bytes });
  expect(fileCount).toBeGreaterThan(1);
  return bytes;
}

function totalsOf({ filesTotal, bytesTotal }: Progress): unknown[] {
  return [filesTotal, bytesTotal];
}

it('finds the files and bytes that the backup beside it will save', async () => {
  const repository = await makeTestRepository();
  const { source, directory } = repository;
  mkdirSync(join(source, 'deep', 'deeper'), { recursive: true });
  mkdirSync(join(source, 'skipped'));
  const names = ['a', 'deep/b', 'deep/deeper/\u00fc', 'skipped/c', 'x.tmp'];
  for (const [index, name] of names.entries()) writeFileSync(join(source, name), 'x'.repeat(index * 1000));
  linkSync(join(source, 'a'), join(source, 'same'));
  symlinkSync('deep', join(source, 'link'));
  await expectTotals(repository, [source], {});
  await expectTotals(repository, [source], { exclude: ['skipped', '*.tmp'] });
  // The repository itself is not saved; a root that is a symlink is followed.
  await expectTotals(repository, [directory], {});
  symlinkSync(source, join(directory, 'to-source'));
  await expectTotals(repository, [join(directory, 'to-source')], {});
});

it('follows the rules of the backup', async () => {
  const repository = await makeTestRepository();
  const { source } = repository;
  for (const name of ['cache', 'marked', 'git/.git', 'rest']) mkdirSync(join(source, name), { recursive: true });
  const files = {
    'cache/CACHEDIR.TAG': 'Signature: 8a477f597d28d172789f06886806bc55',
    'cache/a': 'a',
    'marked/.nobackup': '',
    'marked/b': 'bb',
    'git/.gitignore': '*.o',
    'git/c.o': 'c',
    'rest/large': 'x'.repeat(5000),
    'rest/UPPER.LOG': 'log',
    'rest/.ldmignore': 'ignored\n',
    'rest/ignored': 'ignored',
    'rest/kept': 'kept',
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(source, name), content);
  const rules: readonly ExclusionOptions[] = [
    { excludeCaches: true },
    { excludeIfPresent: ['.nobackup'] },
    { excludeLargerThan: 4000 },
    { iexclude: ['*.log'] },
    { ignoreFiles: false },
    { gitIgnore: true, oneFileSystem: true },
  ];
  const found = new Set<number>();
  for (const rule of rules) found.add(await expectTotals(repository, [source], rule));
  // Each of them leaves something else out.
  expect(found.size).toBe(rules.length);
});

it('a thread counts, and its totals are those of the progress', async () => {
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'a'), 'abc');
  writeFileSync(join(repository.source, 'b.tmp'), 'abc');
  const progress = { ...createProgress(), isShown: true };
  // A backup has more options than rules, and some cannot be sent to a thread.
  const options = { exclude: ['*.tmp'], onEntry: () => undefined };
  const scan = announceTotals(
    progress,
    undefined,
    await scopeOf(repository, [repository.source], options),
    threadsOfTests(),
  );
  expect(progress.isCounting).toBe(true);
  await vi.waitFor(() => expect(progress.filesTotal).toBeDefined(), COUNT_TIMEOUT_MS);
  await scan!.stop();
  expect([progress.isCounting, ...totalsOf(progress)]).toEqual([false, 1, 3]);
});

it('a scan that is stopped at once starts no thread, and a count ends in the middle', async () => {
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'a'), 'abc');
  const scope = await scopeOf(repository, [repository.source], {});
  const progress = { ...createProgress(), isShown: true };
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  await announceTotals(progress, undefined, scope, threadsOfTests())!.stop();
  expect(vi.getTimerCount()).toBe(0);
  expect([progress.isCounting, ...totalsOf(progress)]).toEqual([false, undefined, undefined]);
  let left = 2;
  expect(countSources(scope, () => left-- === 0)).toBeUndefined();
});

it('is not needed if a parent snapshot has the same paths, or if no progress is shown', async () => {
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'a'), 'abc');
  const { summary } = await repository.backup();
  const parent = {
    id: '',
    tree: new Uint8Array(),
    summary,
    wholeTree: undefined,
    usedIds: [],
    attributes: undefined,
    earlier: undefined,
    startMs: 0,
  };
  const plan = await planSources([repository.source], '/', () => undefined);
  const scope = { plan, excluded: {}, repositoryPlace: '/' };
  const progress = createProgress();
  expect(announceTotals(progress, undefined, scope, threadsOfTests())).toBeUndefined();
  expect(totalsOf(progress)).toEqual([undefined, undefined]);
  progress.isShown = true;
  expect(announceTotals(progress, parent, scope, threadsOfTests())).toBeUndefined();
  expect(totalsOf(progress)).toEqual([1, 3]);
  const scan = announceTotals(progress, { ...parent, summary: undefined }, scope, threadsOfTests());
  expect(scan).toBeDefined();
  await scan!.stop();
});

it('counts in one of the threads that a limit allows, and not at all if it allows only one', async () => {
  const repository = await makeTestRepository();
  const scope = await scopeOf(repository, [repository.source], {});
  const progress = createProgress();
  progress.isShown = true;
  const counted = { count: 0 };
  const onWorker = (): void => void (counted.count += 1);
  process.on('worker', onWorker);
  onTestFinished(() => void process.off('worker', onWorker));
  expect(announceTotals(progress, undefined, scope, new TaskPool({ threadsMax: 0 }))).toBeUndefined();
  const pool = new TaskPool({ threadsMax: 1 });
  onTestFinished(() => pool.close());
  const scan = announceTotals(progress, undefined, scope, pool)!;
  pool.prepare();
  await setImmediate();
  expect(counted.count).toBe(0);
  await scan.stop();
  pool.prepare();
  await setImmediate();
  expect(counted.count).toBe(1);
});
