import { chmodSync, linkSync, lstatSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { makeTestRepository } from '../../support/test-repository.ts';
import { runTool } from '../../support/tools.ts';

const OLD_SECONDS = 1_000_000_000;

function writeOld(path: string, content: string): void {
  writeFileSync(path, content);
  utimesSync(path, OLD_SECONDS, OLD_SECONDS);
}

describe('files that only look like the names of a file', () => {
  it.each([
    ['a correct file with another time', (path: string): void => writeFileSync(path, 'right')],
    ['no file', (): void => undefined],
  ])('are not linked over a third name that has %s', async (_, makeThird) => {
    const { source, backup, restore } = await makeTestRepository();
    writeOld(join(source, 'a1'), 'right');
    for (const name of ['a2', 'a3']) linkSync(join(source, 'a1'), join(source, name));
    await backup();
    for (const options of [{ overwrite: 'if-changed' }, { delete: true }] as const) {
      const { target } = await restore({ include: ['/nothing'] });
      const at = (name: string): string => join(target, 'source', name);
      mkdirSync(join(target, 'source'), { recursive: true });
      for (const name of ['a1', 'a2']) writeOld(at(name), 'wrong');
      makeThird(at('a3'));
      expect(await restore({ target, ...options })).toMatchObject({ problems: [] });
      expect(readFileSync(at('a3'), 'utf8')).toBe('right');
    }
  });
});

describe.each(['never', 'if-newer'] as const)('with --overwrite %s, a missing name', (overwrite) => {
  it.each([
    ['FIFO', (path: string): void => void runTool('mkfifo', path)],
    ['file', (path: string): void => writeOld(path, 'content')],
  ])('of a %s is linked to one that exists only if that has the right metadata', async (_, make) => {
    const { source, backup, restore } = await makeTestRepository();
    make(join(source, 'f1'));
    chmodSync(join(source, 'f1'), 0o600);
    linkSync(join(source, 'f1'), join(source, 'f2'));
    await backup();
    const { target } = await restore();
    const [first, second] = ['f1', 'f2'].map((name) => join(target, 'source', name)) as [string, string];
    rmSync(second);
    expect(await restore({ target, overwrite })).toMatchObject({ problems: [] });
    expect(lstatSync(second).ino).toBe(lstatSync(first).ino);
    rmSync(second);
    chmodSync(first, 0o666);
    expect(await restore({ target, overwrite })).toMatchObject({ problems: [] });
    expect([first, second].map((path) => lstatSync(path).mode & 0o777)).toEqual([0o666, 0o600]);
  });
});
