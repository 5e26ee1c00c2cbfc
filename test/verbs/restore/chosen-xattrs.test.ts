import { chmodSync, lstatSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import { NO_ATTRIBUTE_TOOLS } from '../../support/attribute-dump.ts';
import { bringBack, makeStage, save } from '../../support/attribute-stage.ts';
import { createPrng } from '../../support/prng.ts';
import type { Prng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import { runTool, testNeeding } from '../../support/tools.ts';
import { isRoot } from '../../support/unprivileged.ts';

const NAMES = ['user.a', 'user.ab', 'user.b.c', ...(isRoot ? ['trusted.a', 'trusted.b'] : [])];
/** Each pattern, and the same as a regular expression. */
const PATTERNS: readonly (readonly [string, RegExp])[] = [
  ['user.*', /^user\./],
  ['user.a', /^user\.a$/],
  ['*.?', /\..$/],
  ['*.[^a]*', /\.[^a]/],
  ['trusted.b', /^trusted\.b$/],
  ['*', /^/],
  ['user', /^user$/],
];
const FILES = ['small', 'large', 'directory'];

type Attributes = Map<string, string>;

function setRandom(path: string, prng: Prng): Attributes {
  const set: Attributes = new Map();
  for (const name of NAMES) {
    if (prng.int(2) === 0) continue;
    const value = `${prng.int(1000)}`;
    runTool('setfattr', '-n', name, '-v', value, path);
    set.set(name, value);
  }
  return set;
}

function attributesOf(path: string): Attributes {
  const lines = runTool('getfattr', '-d', '-m', '^(user|trusted)', '--absolute-names', path).split('\n');
  return new Map(lines.flatMap((line) => [...(/^([^#=]+)="(.*)"$/.exec(line)?.slice(1) ?? [])]).reduce(pairs, []));
}

function pairs(found: [string, string][], text: string, index: number, all: string[]): [string, string][] {
  return index % 2 === 0 ? [...found, [text, all[index + 1]!]] : found;
}

/** In the order of the options: the last pattern that matches decides. */
function randomPatterns(prng: Prng): { readonly texts: string[]; readonly matches: (name: string) => boolean } {
  const chosen = Array.from({ length: 1 + prng.int(3) }, (_, index) => {
    const [text, regex] = PATTERNS[prng.int(PATTERNS.length)]!;
    const isNegated = index > 0 && prng.int(2) === 0;
    return { text: isNegated ? `!${text}` : text, regex, isNegated };
  });
  const matches = (name: string): boolean => chosen.findLast(({ regex }) => regex.test(name))?.isNegated === false;
  return { texts: chosen.map(({ text }) => text), matches };
}

for (const seed of seedsOf(3, 60)) {
  testNeeding(NO_ATTRIBUTE_TOOLS)(`what is not chosen is neither set nor removed (seed ${seed})`, async () => {
    const prng = createPrng(seed);
    const stage = await makeStage();
    const restored = join(stage.directory, 'target/tree');
    const isNew = prng.int(3) === 0;
    const isSame = prng.int(2) === 0;
    for (const tree of isNew ? [stage.source] : [stage.source, restored]) {
      mkdirSync(join(tree, 'directory'), { recursive: true });
      writeFileSync(join(tree, 'small'), tree === stage.source || isSame ? 'saved' : 'before');
      writeFileSync(join(tree, 'large'), Buffer.alloc(600_000, isSame ? 'x' : tree));
      if (isSame) for (const name of ['small', 'large']) utimesSync(join(tree, name), 1e9, 1e9);
    }
    const saved = FILES.map((name) => setRandom(join(stage.source, name), prng));
    const before = FILES.map((name) => (isNew ? new Map<string, string>() : setRandom(join(restored, name), prng)));
    const inodes = FILES.map((name) => (isNew ? undefined : lstatSync(join(restored, name)).ino));
    await save(stage);
    const { texts, matches } = randomPatterns(prng);
    const isInclude = prng.int(2) === 0;
    const options = isInclude ? { includeXattr: texts } : { excludeXattr: texts };
    expect((await bringBack(stage, { overwrite: 'if-changed', ...options })).problems).toEqual([]);
    for (const [index, name] of FILES.entries()) {
      // A file with another content is replaced by a new one.
      const isReplaced = lstatSync(join(restored, name)).ino !== inodes[index];
      if (isSame && !isNew) expect(isReplaced).toBe(false);
      const isChosen = (attribute: string): boolean => matches(attribute) === isInclude;
      const expected = NAMES.flatMap((attribute) => {
        const from = isChosen(attribute) ? saved[index] : isReplaced ? undefined : before[index];
        return from?.has(attribute) ? [[attribute, from.get(attribute)]] : [];
      });
      const message = `seed ${seed}, ${name}, ${JSON.stringify(options)}`;
      expect(Object.fromEntries(attributesOf(join(restored, name))), message).toEqual(Object.fromEntries(expected));
    }
    const again = await bringBack(stage, { overwrite: 'if-changed', dryRun: true, ...options });
    expect(again).toMatchObject({ filesRestored: 0, filesUnchanged: 2 });
  });
}

testNeeding(NO_ATTRIBUTE_TOOLS)('ACLs are attributes, too, and without one the group gets no more', async () => {
  const stage = await makeStage();
  const file = join(stage.source, 'file');
  writeFileSync(file, 'private');
  chmodSync(file, 0o600);
  runTool('setfacl', '-m', 'u:65534:rw,g::-', file);
  runTool('setfattr', '-n', 'user.kept', '-v', 'x', file);
  await save(stage);
  // The files inherit what is not in the snapshot.
  const target = join(stage.directory, 'target');
  mkdirSync(target);
  await bringBack(stage, { excludeXattr: ['system.*'] });
  const restored = join(target, 'tree/file');
  expect(runTool('getfacl', '-cn', restored)).not.toContain('user:65534');
  expect(lstatSync(restored).mode & 0o777).toBe(0o600);
  expect(attributesOf(restored)).toEqual(new Map([['user.kept', 'x']]));
  await bringBack(stage, { includeXattr: ['system.posix_acl_access'], overwrite: 'if-changed' });
  expect(runTool('getfacl', '-cn', restored)).toContain('user:65534:rw-');
});

testNeeding(NO_ATTRIBUTE_TOOLS)('an inherited ACL stays where ACLs are not chosen', async () => {
  const stage = await makeStage();
  writeFileSync(join(stage.source, 'file'), 'x');
  await save(stage);
  for (const [target, excludeXattr, isKept] of [
    ['kept', ['system.*'], true],
    ['removed', ['user.*'], false],
  ] as const) {
    const directory = join(stage.directory, target);
    mkdirSync(directory);
    runTool('setfacl', '-d', '-m', 'u:65534:r', directory);
    await bringBack(stage, { target: directory, excludeXattr });
    expect(runTool('getfacl', '-cn', join(directory, 'tree/file')).includes('user:65534')).toBe(isKept);
  }
});

it.each([
  { includeXattr: ['user.*'], excludeXattr: ['user.a'] },
  { includeXattr: ['[a'] },
  { excludeXattr: [''] },
  { excludeXattr: ['user.a'], xattr: false },
])('is refused before anything is restored: %j', async (options) => {
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'a'), 'x');
  await repository.backup();
  await expect(repository.restore(options)).rejects.toThrow(UsageError);
});
