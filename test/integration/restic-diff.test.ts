import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

import { mutateTree } from '../support/mutate-tree.ts';
import { createPrng } from '../support/prng.ts';
import { makeRandomTree } from '../support/random-tree.ts';
import { hasRestic, initRestic } from '../support/restic.ts';
import type { Restic } from '../support/restic.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { seedsOf } from '../support/seeds.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { testNeeding } from '../support/tools.ts';

interface Message {
  readonly message_type?: string;
  readonly modifier: string;
  readonly path: string;
  readonly source_path?: string;
}

const parse = (stdout: string): Message[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Message);

/** The two programs show bytes that are not UTF-8 in different ways. */
const isText = (path: string): boolean => !/[\ufffd\\"]/.test(path) && path.normalize() === path;

function resticChanges({ run }: Restic, args: readonly string[], source: string): string[] {
  return parse(run(['diff', '--json', ...args]))
    .filter(({ message_type: type, path }) => type === 'change' && path.startsWith(`${source}/`) && isText(path))
    .map(({ modifier, path }) => `${modifier.replace('TU', 'T')} ${path}`)
    .toSorted();
}

/** With a removal and an addition for each move. What is in a directory that was moved is left out on both sides. */
async function ldmChanges(
  args: readonly string[],
  repository: string,
): Promise<{ readonly changes: string[]; readonly moved: readonly string[] }> {
  const { code, stdout, stderr } = await runLdmHere(['-r', repository, '--json', 'diff', ...args]);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const moved: string[] = [];
  const changes: string[] = [];
  for (const { message_type: type, modifier, path, source_path: before } of parse(stdout)) {
    if (type !== 'change') continue;
    if (before === undefined) changes.push(`${modifier} ${path}`);
    else changes.push(`- ${before}`, `+ ${path}`);
    if (before?.endsWith('/') === true) moved.push(before, path);
  }
  return { changes: changes.filter((change) => isText(change)).toSorted(), moved };
}

const testWithRestic = testNeeding(hasRestic ? '' : 'restic is not installed');
const SEEDS = seedsOf(1, 10);
let changeCount = 0;

for (const seed of SEEDS)
  testWithRestic(`diff lists what restic lists, moves aside (seed ${seed})`, async () => {
    const prng = createPrng(seed);
    const directory = memoryDirectory();
    const source = join(directory, 'source');
    const repository = join(directory, 'ldm');
    mkdirSync(source);
    makeRandomTree(join(source, 'tree'), { seed, fileCount: 60, fileSizeBytesMax: 30_000 });
    const restic = initRestic(directory);
    await runLdmHere(['-r', repository, 'init', '--no-encryption']);
    const saveBoth = async (): Promise<void> => {
      restic.run(['backup', '--quiet', source]);
      expect((await runLdmHere(['-r', repository, '-q', 'backup', source])).code).toBe(0);
    };
    await saveBoth();
    for (let round = 0; round < 3; round += 1) {
      const log = mutateTree(source, prng, { changeCount: 14 });
      await saveBoth();
      const ids = (JSON.parse(restic.run(['snapshots', '--json'])) as { id: string; time: string }[])
        .toSorted((a, b) => (a.time < b.time ? -1 : 1))
        .map(({ id }) => id)
        .slice(-2);
      for (const options of [[], ['--metadata']]) {
        const { changes, moved } = await ldmChanges([...options, 'latest~1', 'latest'], repository);
        const isInMoved = (change: string): boolean =>
          moved.some((path) => change.slice(2).startsWith(path) && change.length > path.length + 2);
        const theirs = resticChanges(restic, [...options, ...ids], source).filter((change) => !isInMoved(change));
        // restic also lists changes of inode, ctime and link count.
        const ours = changes.filter((change) => change.slice(2).startsWith(`${source}/`));
        if (options.length === 0) expect(ours, `seed ${seed}: ${log.join('; ')}`).toEqual(theirs);
        else expect(theirs).toEqual(expect.arrayContaining(ours));
        changeCount += ours.length;
      }
    }
  });

// Of all seeds: with a given one, few files may be left to change.
testWithRestic(`diff listed changes (seeds ${SEEDS.join(', ')})`, () => {
  expect(changeCount).toBeGreaterThan(40);
});
