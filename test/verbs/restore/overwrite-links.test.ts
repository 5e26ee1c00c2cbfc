import { linkSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { diffTrees } from '../../support/compare-trees.ts';
import { createPrng } from '../../support/prng.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

/** Groups in which some name changes: all but two. */
const GROUP_COUNT = 16;
const CHANGED_COUNT = 14;
const PLACES = ['a', 'b', 'c'];
const OLD_SECONDS = 1_000_000_000;
const prng = createPrng(20261124);
const contents = Array.from({ length: GROUP_COUNT }, () => prng.bytes(5000));

/** Files with a name in each of three directories. The content of each is a block of its own. */
async function makeLinked(): Promise<TestRepository> {
  const repository = await makeTestRepository();
  const { source, context } = repository;
  Object.assign(context, { storeSizes: { blockRawBytes: 4096, packBytes: 2 ** 20, segmentBytes: 2 ** 20 } });
  for (const place of PLACES) mkdirSync(join(source, place));
  for (const [group, content] of contents.entries()) {
    const first = join(source, PLACES[0]!, `${group}`);
    writeFileSync(first, content);
    utimesSync(first, OLD_SECONDS, OLD_SECONDS);
    for (const place of PLACES.slice(1)) linkSync(first, join(source, place, `${group}`));
  }
  await repository.backup();
  return repository;
}

/** What has happened to some names of a group at the target since they were restored. */
const CHANGES: Readonly<Record<string, (name: string) => void>> = {
  'was removed': (name) => rmSync(name),
  'was replaced by an older file': (name) => {
    rmSync(name);
    writeFileSync(name, 'older');
    utimesSync(name, OLD_SECONDS - 1, OLD_SECONDS - 1);
  },
  'was replaced by a file of the same content and time': (name) => {
    rmSync(name);
    writeFileSync(name, contents[Number(basename(name))]!);
    utimesSync(name, OLD_SECONDS, OLD_SECONDS);
  },
};

describe.each(['always', 'if-changed', 'if-newer'] as const)('with --overwrite %s', (overwrite) => {
  it.each(Object.keys(CHANGES))(
    'each block is read once for all names of a file, if one of them %s',
    async (change) => {
      const repository = await makeLinked();
      const { target } = await repository.restore();
      // Every combination of changed names occurs twice.
      for (let group = 0; group < GROUP_COUNT; group += 1) {
        const changed = PLACES.filter((_, index) => ((group >> index) & 1) === 1);
        for (const place of changed) CHANGES[change]!(join(target, 'source', place, `${group}`));
      }
      const { problems, blocksRead, blocksNeeded } = await repository.restore({ target, overwrite });
      expect(problems).toEqual([]);
      expect(blocksRead).toBe(blocksNeeded);
      const isSameToItself = overwrite !== 'always' && /same content and time/.test(change);
      expect(blocksNeeded).toBe(overwrite === 'always' ? GROUP_COUNT : isSameToItself ? 0 : CHANGED_COUNT);
      // Only `if-changed` corrects what is beside the content.
      const ignore = isSameToItself && overwrite === 'if-newer' ? (['hardlinkGroup'] as const) : [];
      expect(diffTrees(repository.source, join(target, 'source'), { ignore })).toEqual([]);
    },
  );
});
