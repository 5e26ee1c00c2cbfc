import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { readFileLists } from '../../../src/verbs/backup/file-lists.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { makeScenario } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';
import { startLdm } from '../../cli/start-ldm.ts';

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

  it('may name more files than a function can have arguments', async () => {
    const list = join(temporaryDirectory(), 'list');
    writeFileSync(list, 'name\0'.repeat(300_000));
    const flags = { filesFrom: [], filesFromVerbatim: [], filesFromRaw: [list] };
    const { paths } = await readFileLists(flags, new AbortController().signal);
    expect(paths).toHaveLength(300_000);
  });

  const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');

  it.each(['--files-from', '--files-from-verbatim'])('may be UTF-16 with a byte order mark: %s', async (option) => {
    const scenario = await makeFiles('a', 'caf\xc3\xa9', 'c');
    for (const list of [utf16('files/a\r\nfiles/caf\u00e9\n'), utf16('files/a\nfiles/caf\u00e9').swap16()]) {
      writeFileSync(join(scenario.directory, 'list'), list);
      expect(await scenario.run(['backup', option, 'list'])).toMatchObject({ code: 0, stderr: '' });
      expect(await saved(scenario)).toEqual(['a', 'caf\u00e9']);
    }
  });

  it.each([
    ['--files-from', utf16('files/a').subarray(2), 'the list list contains NUL bytes, as UTF-16 without'],
    ['--files-from-verbatim', Buffer.from('files/a\0files/b'), 'the list list contains NUL bytes'],
    ['--files-from', Buffer.concat([utf16('files/a'), Buffer.from('x')]), 'the list list begins as UTF-16, but is not'],
    ['--files-from', Buffer.from([0xff, 0xfe, 0, 0, 97, 0, 0, 0]), 'the list list is UTF-32'],
    ['--exclude-file', utf16('a').subarray(2), 'list contains NUL bytes'],
    ['--iexclude-file', Buffer.from('a\0b'), 'list contains NUL bytes'],
    ['--exclude-file', Buffer.from([0xff, 0xfe, 97]), 'list begins as UTF-16, but is not valid'],
  ])('that are no text are refused: %s', async (option, content, message) => {
    const scenario = await makeFiles('a', 'b');
    writeFileSync(join(scenario.directory, 'list'), content);
    const { code, stderr } = await scenario.run([
      'backup',
      option,
      'list',
      ...(option.includes('exclude') ? ['files'] : []),
    ]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).toContain('Save it as UTF-8.');
    expect((await scenario.run(['snapshots'])).stdout).toContain('0 snapshots');
  });

  it('of patterns in .ldmignore may be UTF-16, and are reported if they are no text', async () => {
    const scenario = await makeFiles('a', 'b');
    const file = join(scenario.directory, 'files/.ldmignore');
    writeFileSync(file, utf16('b\r\n'));
    expect((await scenario.run(['backup', 'files'])).code).toBe(0);
    expect(await saved(scenario)).toEqual(['files/.ldmignore', 'files/a']);
    writeFileSync(file, utf16('b\n').subarray(2));
    const { code, stderr } = await scenario.run(['backup', 'files']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('contains NUL bytes')]);
    expect(await saved(scenario)).toEqual(['files/.ldmignore', 'files/a', 'files/b']);
  });

  it('of settings and keys may be UTF-16 too', async () => {
    const { directory, run } = await makeFiles('a');
    const settings = join(directory, 'settings');
    mkdirSync(join(settings, 'ldm'), { recursive: true });
    writeFileSync(join(settings, 'ldm/config.toml'), utf16('[profiles.p.backup]\nhost = "other"\n'));
    const options = { env: { XDG_CONFIG_HOME: settings } };
    expect(await run(['-p', 'p', 'backup', 'files'], options)).toMatchObject({ code: 0, stderr: '' });
    expect((await run(['snapshots'])).stdout).toContain('other');
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
