import { copyFileSync, existsSync, lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { DIRECTORIES, packName } from '../../src/core/format/layout.ts';
import { diffTrees } from '../support/compare-trees.ts';
import { addLitter } from '../support/litter.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import type { RunLdmResult } from '../support/run-ldm.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

interface Stage {
  readonly directory: string;
  readonly repository: string;
  readonly run: (...args: string[]) => Promise<RunLdmResult>;
  /** The same, and fails unless the command succeeds. */
  readonly succeed: (...args: string[]) => Promise<RunLdmResult>;
}

const PASSWORD = 'correct horse battery staple';

async function setStage(initOptions: readonly string[]): Promise<Stage> {
  const directory = memoryDirectory();
  const repository = join(directory, 'repository');
  const password = initOptions.includes('--no-encryption') ? {} : { LDM_PASSWORD: PASSWORD };
  const options = { cwd: directory, env: { ...password, LDM_REPOSITORY: repository } };
  const run = async (...args: string[]): Promise<RunLdmResult> => runLdmHere(args, options);
  const succeed = async (...args: string[]): Promise<RunLdmResult> => {
    const result = await run(...args);
    expect(result, args.join(' ')).toMatchObject({ code: 0 });
    return result;
  };
  mkdirSync(join(directory, 'source'));
  writeFileSync(join(directory, 'source', 'first'), 'first '.repeat(5000));
  await succeed('init', ...initOptions.map((option) => option.replace('DIR', directory)));
  await succeed('backup', 'source');
  writeFileSync(join(directory, 'source', 'second'), 'second '.repeat(5000));
  await succeed('backup', 'source');
  writeFileSync(join(directory, 'source', 'third'), 'third '.repeat(5000));
  await succeed('backup', 'source');
  return { directory, repository, run, succeed };
}

const KINDS = [
  ['encrypted', []],
  ['in groups', ['--no-encryption', '--group', 'a=DIR/a', '--group', 'b=DIR/b', '--copies', '2']],
] as const;

/** Everything that reads or changes a repository. */
const COMMANDS = [
  'snapshots',
  'ls latest',
  'stats',
  'show latest',
  'du latest',
  'find first',
  'history source/first',
  'diff latest~1 latest',
  'have source',
  'dump latest:source/first',
  'check',
  'check --read-data',
  'check --no-key',
  'backup source',
  'tag latest --add t',
  'delete ID --no-reclaim',
  'snapshots --deleted',
  'undelete ID',
  'delete latest~2 --undo-for 1d',
  'forget --keep-last 2',
  'compact --max-unused 0',
  'rewrite latest --exclude third',
  'delete latest~1',
  'backup source',
  'repair --dry-run',
  'repair',
  'restore latest --target out',
  'check --read-data',
];

test.each(KINDS)('litter in every directory of a repository that is %s is in nobody’s way', async (kind, options) => {
  const { directory, repository, succeed } = await setStage(options);
  const places = kind === 'in groups' ? [repository, join(directory, 'a'), join(directory, 'b')] : [repository];
  for (const name of DIRECTORIES) mkdirSync(join(repository, name), { recursive: true });
  const litter = places.flatMap((place) => addLitter(place));
  expect(litter.length).toBeGreaterThan(300);
  const [first] = (await succeed('snapshots', '--json')).stdout.match(/(?<="id":")[0-9a-f]{64}/)!;
  for (const command of COMMANDS) await succeed(...command.replace('ID', first).split(' '));
  expect(diffTrees(join(directory, 'source'), join(directory, 'out', 'source'))).toEqual([]);
  expect(litter.filter((path) => lstatSync(path, { throwIfNoEntry: false }) === undefined)).toEqual([]);
  const { stdout } = await succeed('snapshots', '--json');
  expect(stdout.match(/"tree":/g)).toHaveLength(3);
  expect(readdirSync(join(repository, 'quarantine')).filter((name) => /^(?:packs|index|snap)/.test(name))).toEqual([]);
});

test('check counts what ldm has not written, and names a pack in a wrong directory', async () => {
  const { repository, run, succeed } = await setStage(['--no-encryption']);
  expect(JSON.parse((await succeed('check', '--json')).stdout)).toMatchObject({ foreign_files: 0 });
  const fan = readdirSync(join(repository, 'packs'))[0]!;
  const id = readdirSync(join(repository, 'packs', fan))[0]!;
  for (const place of ['locks/Thumbs.db', 'holiday.jpg', 'snapshots/notes', 'keys/.x', 'unfinished/a', 'tmp/b']) {
    mkdirSync(join(repository, place, '..'), { recursive: true });
    writeFileSync(join(repository, place), 'x');
  }
  copyFileSync(join(repository, packName(id)), join(repository, 'packs', id));
  copyFileSync(join(repository, packName(id)), join(repository, 'index', 'pack'));
  const checked = await succeed('check', '--json');
  const [finding, summary] = checked.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(finding).toMatchObject({ severity: 'warning', kind: 'file-misplaced', file: `packs/${id}` });
  expect(summary).toMatchObject({ foreign_files: 8, num_errors: 0, num_warnings: 1 });
  expect((await succeed('check')).stdout).toContain('ignored 8 files that ldm has not written, such as holiday.jpg');
  // If it is missing in its own directory, that is an error besides, and repair does what it can.
  rmSync(join(repository, packName(id)));
  const damaged = await run('check', '--json');
  expect(damaged.code).toBe(4);
  expect(damaged.stdout).toContain('pack-missing');
  expect(damaged.stdout).toContain('file-misplaced');
  expect([0, 4]).toContain((await run('repair')).code);
  expect(existsSync(join(repository, 'packs', id))).toBe(true);
});

test.each(['packs', 'index', 'snapshots', 'deleted', 'manifests.bak', 'condemned', 'filter', 'keys'])(
  'files with right names and wrong bytes in %s end no repair, and what is set aside is only they',
  async (where) => {
    const { directory, repository, run, succeed } = await setStage([]);
    const id = 'ab'.repeat(32);
    const names: readonly string[] =
      where === 'packs'
        ? [`packs/cd/${id}`, `packs/ab/${id}`, `packs/${id}`]
        : [`${where}/${where === 'filter' ? '000000000099-0123abcd' : id}`, `${where}/sub/${id}`];
    for (const name of names) {
      mkdirSync(join(repository, name, '..'), { recursive: true });
      writeFileSync(join(repository, name), 'x');
    }
    expect([0, 4]).toContain((await run('repair')).code);
    await succeed('restore', 'latest', '--target', 'out');
    expect(diffTrees(join(directory, 'source'), join(directory, 'out', 'source'))).toEqual([]);
    for (const name of readdirSync(join(repository, 'quarantine')))
      expect(name).toMatch(where === 'filter' ? /000000000099-0123abcd/ : new RegExp(id));
  },
);
