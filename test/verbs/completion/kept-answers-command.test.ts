import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { runBuiltHere, runLdmHere } from '../../support/run-ldm-here.ts';
import { runLdm } from '../../support/run-ldm.ts';
import { makeTemporaryDirectory } from '../../support/temp-directory.ts';

const home = makeTemporaryDirectory();
const repository = join(home, 'repository');
const file = join(home, '.cache', 'ldm', 'completion.json');
const env = { HOME: home, XDG_CACHE_HOME: undefined, LDM_REPOSITORY: undefined, LDM_NO_CACHE: undefined };

beforeAll(async () => {
  writeFileSync(join(home, 'a'), 'a');
  await runLdmHere(['-r', repository, 'init', '--no-encryption']);
  await runLdmHere(['-r', repository, 'backup', join(home, 'a')]);
});
beforeEach(() => rmSync(join(home, '.cache'), { recursive: true, force: true }));
afterAll(() => rmSync(home, { recursive: true }));

/** What the program answers to fish. */
async function answer(words: readonly string[], more: Record<string, string | undefined> = {}): Promise<string[]> {
  const { stdout, stderr, code } = await runBuiltHere(['complete', 'fish', '--', ...words], {
    env: { ...env, ...more },
  });
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  return stdout.split('\n').slice(1, -1);
}

const SNAPSHOTS = ['-r', repository, 'restore', ''];
const PATHS = ['-r', repository, 'restore', 'latest:'];
const MARK = 'kept\tfrom the file';

/** Shows which answers come from the file. */
function mark(): void {
  const answers = JSON.parse(readFileSync(file, 'utf8')) as object[];
  const [value, description] = MARK.split('\t');
  const candidates = [
    { value, description },
    { value: `latest:${value}`, description },
  ];
  writeFileSync(file, JSON.stringify(answers.map((each) => ({ ...each, candidates }))));
}

it('what the build wrote gives the same answers as the program itself', async () => {
  for (const words of [
    ['re'],
    ['key', 'ad'],
    ['restore', '--o'],
    ['--', 'restore', '--o'],
    ['restore', '--overwrite', ''],
  ]) {
    const { stdout } = await runLdmHere(['complete', 'fish', '--', ...words]);
    expect(await answer(words), words.join(' ')).toEqual(stdout.split('\n').slice(1, -1));
  }
});

describe('what a repository answered is kept', () => {
  it('for the user alone, and used until its snapshots change', async () => {
    const before = await answer(SNAPSHOTS);
    expect(before).toHaveLength(2);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await answer(PATHS)).toEqual(['latest:a\t']);
    mark();
    expect(await answer(SNAPSHOTS)).toEqual([MARK, `latest:${MARK}`]);
    expect(await answer(PATHS)).toEqual([`latest:${MARK}`]);
    await runLdmHere(['-r', repository, 'tag', '--add', 'x', 'latest']);
    const after = await answer(SNAPSHOTS);
    expect(after).toHaveLength(2);
    expect(after).not.toEqual(before);
    expect(await answer(PATHS)).toEqual(['latest:a\t']);
  });

  it('only for the same question', async () => {
    const other = join(home, 'other');
    await answer(SNAPSHOTS);
    await answer(['-r', repository, 'delete', '']);
    mark();
    expect(await answer(['-r', other, 'restore', ''])).toEqual([]);
    expect(await answer(['-r', repository, 'undelete', ''])).toEqual([]);
    expect(await answer(SNAPSHOTS, { LDM_PASSWORD_FILE: join(home, 'a') })).not.toContain(MARK);
    expect(await answer(SNAPSHOTS)).toContain(MARK);
  });

  it('unless the cache is not wanted', async () => {
    await answer(SNAPSHOTS, { LDM_NO_CACHE: '1' });
    await answer(['--no-cache', ...SNAPSHOTS]);
    expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined();
  });

  it('until the caches are removed', async () => {
    await answer(SNAPSHOTS);
    await runLdm(['cache', '--clean'], { env });
    expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined();
  });

  it.each(['', '[', '{}', '[null, 1, {"question": 2}]'])(
    'and a damaged file (%j) is written again',
    async (content) => {
      await answer(SNAPSHOTS);
      writeFileSync(file, content);
      expect(await answer(SNAPSHOTS)).toHaveLength(2);
      mark();
      expect(await answer(SNAPSHOTS)).toContain(MARK);
    },
  );
});
