import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it, vi } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import { createProgress } from '../../../src/core/session/progress.ts';
import { planSources } from '../../../src/core/sources/source-plan.ts';
import type { BackupEntry } from '../../../src/verbs/backup/backup.ts';
import { announceTotals } from '../../../src/verbs/backup/source-scan.ts';
import { diffSnapshots } from '../../../src/verbs/diff/diff.ts';
import { createPrng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import { missingTools, runTool, testNeeding } from '../../support/tools.ts';
import { giveToNobody, withoutPrivileges } from '../../support/unprivileged.ts';
import { withoutKoffi } from '../../support/without-koffi.ts';
import { listPaths, writeFiles } from '../../verbs/backup/source-tree.ts';
import { threadsOfTests } from '../../support/test-threads.ts';

const NO_TOOLS = missingTools('setfattr', 'chattr');
const ROBOTS = 'user.xdg.robots.backup';
const OPTIONS = { excludeNodump: true, excludeIfXattr: [ROBOTS, 'user.any', 'user.is=it'] };

/** How to mark something, and whether the options above then leave it out. */
const MARKS: readonly (readonly [string[], boolean])[] = [
  [['chattr', '+d'], true],
  [['chattr', '+A'], false],
  [['setfattr', '-n', ROBOTS, '-v', 'false'], true],
  [['setfattr', '-n', ROBOTS, '-v', 'true'], false],
  [['setfattr', '-n', ROBOTS, '-v', 'false '], false],
  [['setfattr', '-n', 'user.any', '-v', 'x'], true],
  [['setfattr', '-n', 'user.any'], true],
  [['setfattr', '-n', 'user.is', '-v', 'it'], true],
  [['setfattr', '-n', 'user.is', '-v', 'not it'], false],
  [['setfattr', '-n', 'user.is', '-v', 'i'], false],
  [['setfattr', '-n', 'user.other', '-v', 'it'], false],
];

for (const seed of seedsOf(2, 40)) {
  testNeeding(NO_TOOLS)(
    `marks leave out what has them and what is below, everywhere alike (seed ${seed})`,
    async () => {
      const prng = createPrng(seed);
      const repository = await makeTestRepository({}, temporaryDirectory());
      const { source, context } = repository;
      const paths: string[] = [];
      for (const outer of 'abcd') {
        for (const inner of ['1', '2/x', '2/y']) paths.push(`${outer}/${inner}`);
        paths.push(outer, `${outer}/2`);
      }
      writeFiles(source, ...paths.filter((path) => /[1xy]$/.test(path)));
      const marked = new Set<string>();
      for (const path of paths) {
        const [mark, isLeftOut] = MARKS[prng.int(MARKS.length)]!;
        // New files in a directory would inherit the flag, so all exist by now.
        if (prng.int(3) === 0) continue;
        runTool(mark[0]!, ...mark.slice(1), join(source, path));
        if (isLeftOut) marked.add(path);
      }
      const kept = paths.filter((path) => ![...marked].some((mark) => path === mark || path.startsWith(`${mark}/`)));
      const summary = (await repository.backup(OPTIONS)).summary;
      expect(await listPaths(repository)).toEqual(['source', ...kept.map((path) => `source/${path}`).toSorted()]);
      expect((await diffSnapshots(context, { before: 'latest', ...OPTIONS })).changes).toEqual([]);
      const progress = { ...createProgress(), isShown: true };
      const plan = await planSources([source], '/', () => undefined);
      const scan = announceTotals(
        progress,
        undefined,
        { plan, excluded: OPTIONS, repositoryPlace: undefined },
        threadsOfTests(),
      );
      await vi.waitFor(() => expect(progress.filesTotal).toBe(summary.totalFilesProcessed), 300_000);
      await scan!.stop();
      await repository.backup();
      expect(await listPaths(repository)).toHaveLength(paths.length + 1);
    },
  );
}

testNeeding(NO_TOOLS)('a source is saved although it is marked, and each reason is listed', async () => {
  const repository = await makeTestRepository({}, temporaryDirectory());
  const { source } = repository;
  writeFiles(source, 'flag', 'attribute');
  symlinkSync('flag', join(source, 'link'));
  for (const name of ['', 'flag']) runTool('chattr', '+d', join(source, name));
  runTool('setfattr', '-n', 'user.any', join(source, 'attribute'));
  const reasons: (string | undefined)[] = [];
  const onEntry = ({ reason }: BackupEntry): void => void reasons.push(reason);
  await repository.backup({ ...OPTIONS, onEntry });
  // A symlink is not what it leads to.
  expect(await listPaths(repository)).toEqual(['source', 'source/link']);
  expect(reasons.filter((reason) => reason !== undefined)).toEqual(['xattr', 'no-dump']);
});

testNeeding(NO_TOOLS)('what cannot be examined is not left out silently', async () => {
  const repository = await makeTestRepository({}, temporaryDirectory());
  writeFiles(repository.source, 'open');
  const path = join(repository.source, 'closed');
  writeFileSync(path, 'x');
  runTool('setfattr', '-n', 'user.any', path);
  chmodSync(path, 0);
  giveToNobody(repository.directory);
  const { problems } = await withoutPrivileges(async () => repository.backup(OPTIONS));
  expect(problems.map(({ during }) => during)).toEqual(['read']);
});

it.each(['', 'nodots', '=x', '.x', 'user.'])('the attribute %j is refused', async (name) => {
  const repository = await makeTestRepository();
  mkdirSync(join(repository.source, 'a'));
  await expect(repository.backup({ excludeIfXattr: [name] })).rejects.toThrow(UsageError);
});

it.each([{ excludeNodump: true }, { excludeIfXattr: ['user.any'] }])(
  'marks are refused where they cannot be read: %j',
  async (options) => {
    const repository = await makeTestRepository();
    withoutKoffi();
    await expect(repository.backup(options)).rejects.toThrow('cannot be read here');
    await expect(repository.backup({ excludeNodump: false, excludeIfXattr: [] })).resolves.toBeDefined();
  },
);
