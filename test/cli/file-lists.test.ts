import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { makeScenario } from './scenario.ts';
import type { Scenario } from './scenario.ts';
import { startLdm } from './start-ldm.ts';

async function makeFiles(...names: string[]): Promise<Scenario> {
  const scenario = await makeScenario();
  for (const name of names) {
    mkdirSync(join(scenario.directory, 'files', name, '..'), { recursive: true });
    writeFileSync(Buffer.from(join(scenario.directory, 'files', name), 'latin1'), name);
  }
  return scenario;
}

async function saved({ run }: Scenario): Promise<string[]> {
  const { stdout } = await run(['ls', 'latest', '--json']);
  return stdout
    .split('\n')
    .filter((line) => line.includes('"type":"file"') || line.includes('"type":"symlink"'))
    .map((line) => (JSON.parse(line) as { path: string }).path)
    .toSorted();
}

describe('file lists', () => {
  it('have patterns and comments', async () => {
    const scenario = await makeFiles('a.txt', 'b.txt', 'c.log', '#d', 'sub/e.log', ' f');
    const list = join(scenario.directory, 'list');
    writeFileSync(list, '\ufeff  files/*.txt \r\n\n# files/c.log\nfiles/**/*.log\r\n');
    const { code, stderr } = await scenario.run(['backup', '--files-from', list, 'files/#d']);
    expect([code, stderr]).toEqual([0, '']);
    expect(await saved(scenario)).toEqual(['#d', 'a.txt', 'b.txt', 'c.log', 'sub/e.log']);
  });

  it('may be verbatim, without patterns, and report what is missing', async () => {
    const scenario = await makeFiles('a', '*', '[x]', ' f ', '#d');
    const list = join(scenario.directory, 'list');
    writeFileSync(list, 'files/*\nfiles/[x]\nfiles/ f \nfiles/#d\n\nfiles/?\n');
    const { code, stderr } = await scenario.run(['backup', '--files-from-verbatim', list]);
    expect(code).toBe(3);
    expect(stderr).toContain('files/?');
    expect(await saved(scenario)).toEqual([' f ', '#d', '*', '[x]']);
  });

  it('may have NUL bytes, any name, and come from standard input', async () => {
    const scenario = await makeFiles('a\nb', 'c\xff', 'd');
    symlinkSync('d', join(scenario.directory, 'files/link'));
    const input = Buffer.from('files/a\nb\0files/c\xff\0files/link\0', 'latin1');
    const { code, stderr } = await scenario.runBuilt(['backup', '--files-from-raw', '-'], { input });
    expect([code, stderr]).toEqual([0, '']);
    expect(await saved(scenario)).toEqual(['a\nb', 'c\ufffd', 'link']);
  });

  it.each([
    [['--files-from-raw', '-'], 'files/a', 1, 'incomplete'],
    [['--files-from-raw', '-'], 'files/a\0\0', 1, 'the list on standard input contains an empty name'],
    [['--files-from', '-'], '# none\n', 1, 'the lists of files are empty'],
    [['--files-from', 'nowhere'], '', 2, 'cannot read the list of files nowhere'],
    [['--files-from', '-', '--files-from-raw', '-'], '', 2, 'one list only'],
    [['--files-from', '-', '--stdin-name', 'x'], '', 2, 'cannot be combined'],
  ])('%j with %j end with %d', async (args, input, expected, message) => {
    const scenario = await makeFiles('a');
    // What is refused is not read.
    const result = input === '' ? scenario.run(['backup', ...args]) : scenario.runBuilt(['backup', ...args], { input });
    const { code, stderr } = await result;
    expect(stderr).toContain(message);
    expect(code).toBe(expected);
  });

  it('that stall can be interrupted', async () => {
    const { directory, repository } = await makeScenario();
    const args = ['backup', '--files-from', '-', '-r', repository];
    const running = startLdm(args, { home: directory, hasInput: true });
    // More than the pipe holds: when all is written, it is being read.
    await new Promise((resolve) => running.child.stdin!.write(Buffer.alloc(4 * 1024 * 1024, '#'), resolve));
    running.child.kill('SIGINT');
    expect((await running.ended).code).toBe(130);
  });
});
