import { appendFileSync, chmodSync, mkdtempSync, readdirSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeTree, diffTrees } from './compare-trees.ts';
import { createPrng } from './prng.ts';
import { makeRandomTree, mutateTree } from './random-tree.ts';
import { bytesOf } from './tree-paths.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ldm-random-tree-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

function makePair(): { left: string; right: string; files: string[] } {
  const [left, right] = [join(directory, 'left'), join(directory, 'right')];
  const files = makeRandomTree(left, { seed: 7 });
  expect(spawnSync('cp', ['-a', left, right]).status).toBe(0);
  return { left, right, files };
}

describe('makeRandomTree', () => {
  it('makes the same names and contents from the same seed', () => {
    makeRandomTree(join(directory, 'a'), { seed: 3 });
    makeRandomTree(join(directory, 'b'), { seed: 3 });
    // Symlinks hold the absolute path of their own tree, and times are those of the run.
    expect(diffTrees(join(directory, 'a'), join(directory, 'b'), { ignore: ['mtimeNs', 'linkTarget'] })).toEqual([]);
  });

  it('has every kind of entry', () => {
    const { left } = makePair();
    const entries = [...describeTree(left)].map(([path, text]) => ({ path, ...JSON.parse(text) }));
    const types = new Set(entries.map((entry) => entry.type));
    expect(types).toEqual(new Set(['file', 'directory', 'symlink']));
    expect(entries.some((entry) => entry.hardlinkGroup !== '')).toBe(true);
    expect(entries.some((entry) => entry.type === 'file' && entry.size === '0')).toBe(true);
    expect(entries.some((entry) => entry.path.includes('\xff'))).toBe(true);
    expect(entries.some((entry) => entry.mtimeNs === '1234567890123456789')).toBe(true);
  });
});

describe('diffTrees', () => {
  it('finds a faithful copy equal', () => {
    const { left, right } = makePair();
    expect(diffTrees(left, right)).toEqual([]);
  });

  it('sees one changed byte, one mode, one name and one broken hard link', () => {
    const { left, right, files } = makePair();
    const [first, second, third] = files.slice(20).map((path) => bytesOf(path.replace(left, right)));
    appendFileSync(first!, 'x');
    chmodSync(second!, 0o523);
    renameSync(third!, Buffer.concat([third!, Buffer.from('-moved')]));
    expect(diffTrees(left, right, { ignore: ['mtimeNs'] }).join('\n')).toMatch(
      /content is.*\n[^]*mode is 523[^]*should not be there|missing/,
    );
    const link = readdirSync(right, { recursive: true, encoding: 'latin1' }).find((name) =>
      /(^|\/)hard-0$/.test(name),
    )!;
    unlinkSync(bytesOf(`${right}/${link}`));
    expect(diffTrees(left, right).join('\n')).toContain('hard-0" is missing');
  });
});

describe('mutateTree', () => {
  it('changes the tree, in the same way for the same seed', () => {
    const { left, right } = makePair();
    const before = describeTree(left);
    const log = mutateTree(left, createPrng(11), { changeCount: 30 });
    expect(log.length).toBeGreaterThan(5);
    expect(diffTrees(before, left).length).toBeGreaterThan(0);
    mutateTree(right, createPrng(11), { changeCount: 30 });
    expect(diffTrees(left, right, { ignore: ['mtimeNs'] })).toEqual([]);
  });

  it('survives many rounds', () => {
    const { left } = makePair();
    for (let seed = 0; seed < 10; seed++) mutateTree(left, createPrng(seed), { changeCount: 20 });
    expect(describeTree(left).size).toBeGreaterThan(1);
  });
});
