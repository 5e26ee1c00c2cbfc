import { describe, expect, it } from 'vitest';

import { createCommandRunner } from '../../src/console/command-runner.ts';
import { createProgram } from '../../src/cli/program.ts';
import { runLdm as runBuiltLdm } from '../support/run-ldm.ts';
import { runLdmHere as runLdm } from '../support/run-ldm-here.ts';

const program = createProgram(createCommandRunner());
const commandNames = program
  .createHelp()
  .visibleCommands(program)
  .map((command) => command.name());

describe('help', () => {
  it('knows every command of the tool', () => {
    expect(commandNames.toSorted()).toEqual([
      'adopt',
      'agent',
      'backup',
      'cache',
      'cat',
      'check',
      'compact',
      'completion',
      'config',
      'copy',
      'delete',
      'diff',
      'doctor',
      'du',
      'dump',
      'filter',
      'find',
      'forget',
      'group',
      'have',
      'help',
      'history',
      'import-tar',
      'init',
      'key',
      'locate',
      'log',
      'ls',
      'mount',
      'overdue',
      'pin',
      'realm',
      'repair',
      'restore',
      'rewrite',
      'run',
      'schedule',
      'serve',
      'setup',
      'show',
      'snapshots',
      'stats',
      'status',
      'tag',
      'ui',
      'undelete',
      'unpin',
      'version',
    ]);
  });

  it.each(commandNames)('of %s has an example, the exit codes and the global options', async (name) => {
    const { code, stdout, stderr } = await runLdm([name, '--help']);
    expect(code).toBe(0);
    expect(stderr).toBe('');
    expect(stdout).toContain(`Usage: ldm ${name}`);
    expect(stdout).not.toContain('display help for command');
    expect(stdout).toMatch(new RegExp(`Examples:\n  ldm ${name}`));
    expect(stdout).toMatch(/Exit codes:\n {2}0 +success/);
    expect(stdout).toContain('--repo <place>');
    expect(stdout).toContain('`ldm help options`');
  });

  it('goes to stderr with exit 2 when no command is given', async () => {
    const { code, stdout, stderr } = await runLdm([]);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain('Usage: ldm [options] <command>');
  });

  it('goes to stdout with exit 0 when it is asked for', async () => {
    const asked = await runLdm(['--help']);
    expect(asked.code).toBe(0);
    expect(asked.stdout).toMatch(/^Everyday:\n {2}setup .*^Inside:\n {2}filter /ms);
    expect((await runLdm(['help'])).stdout).toBe(asked.stdout);
    expect((await runLdm(['help', 'backup'])).stdout).toContain('Usage: ldm backup');
    expect((await runLdm(['help', 'filter', 'plan'])).stdout).toContain('Usage: ldm filter plan');
    expect((await runLdm(['filter', 'help', 'plan'])).stdout).toContain('Usage: ldm filter plan');
  });

  it.each([
    [['help', 'nothing'], "ldm: unknown command 'nothing'\nSee `ldm --help`.\n"],
    [['help', 'bakup'], "ldm: unknown command 'bakup'\nDid you mean backup?\n"],
    [['help', 'filter', 'pln'], "ldm: unknown command 'pln'\nDid you mean plan?\n"],
    [['filter', 'help', 'pln'], "ldm: unknown command 'pln'\nDid you mean plan?\n"],
  ])('%j is an error', async (args, stderr) => {
    expect(await runLdm(args)).toMatchObject({ code: 2, stdout: '', stderr });
  });

  it('describes only the exit codes that a command has', async () => {
    const codesOf = async (...args: string[]): Promise<string> =>
      (await runLdm([...args, '--help'])).stdout.split('Exit codes:\n')[1]!;
    expect(await codesOf('version')).toBe('  0   success\n  1   error\n  2   wrong usage\n');
    expect(await codesOf('backup')).toMatch(/^ {2}1 +error: no snapshot was saved/m);
    expect(await codesOf('restore')).not.toContain('snapshot');
    expect(await codesOf('ls')).not.toMatch(/^ {2}[345] /m);
    expect(await codesOf('check')).toMatch(/^ {2}4 +damage was found$/m);
  });
});

it('the list of commands has one line for each, of at most 80 columns, and begins with the everyday ones', async () => {
  const { stdout } = await runLdm(['--help']);
  for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  const lists = stdout.slice(0, stdout.indexOf('Options:'));
  const lines = lists.split('\n').filter((line) => line.startsWith('  '));
  expect(lines.map((line) => /^ {2}([\w-]+)/.exec(line)![1]!).toSorted()).toEqual(commandNames.toSorted());
  expect(lists).toMatch(/^Usage: .*\n\nEveryday:\n/);
  expect(lists).toMatch(/^ {2}diff {11}Compare two snapshots/m);
  expect(lists).toMatch(/^ {2}compact\|prune {2}\w/m);
});

it.each([
  [40, ['--help'], /^ {2}init {11}Create a repository$/m],
  [40, ['backup', '--help'], /^ {2}-H, --host <name>\n {6}the host name to record$/m],
  [60, ['backup', '--help'], /^ {2}-H, --host <name> +the host name to$/m],
])('in %i columns, %j is wrapped', (columns, [name], expected) => {
  const command = program.commands.find((each) => each.name() === name) ?? program;
  const helper = command.createHelp();
  helper.prepareContext({ helpWidth: columns });
  const text = helper.formatHelp(command, helper);
  expect(text).toMatch(expected);
  const long = text
    .split('\n')
    .filter((line) => line.length > columns && !/^ {2}\S+(, \S+)?( [<[]\S+)?$|:$|^ +\S+$/.test(line));
  expect(long).toEqual([]);
});

describe('the global options', () => {
  const names = program.options.map(({ long }) => long!);

  it.each([[['--help']], [['backup', '--help']]])('are six in the help: %j', async (words) => {
    const { stdout } = await runLdm(words);
    const shown = names.filter((name) => new RegExp(`^ +(-\\w, )?${name}\\b(?!-)`, 'm').test(stdout));
    expect(shown).toEqual(['--repo', '--profile', '--json', '--quiet', '--verbose', '--password-file']);
  });

  it('are all in `ldm help options`, with the exit codes', async () => {
    const { code, stdout } = await runLdm(['help', 'options']);
    expect(code).toBe(0);
    for (const name of names) expect(stdout).toContain(name);
    expect(stdout).toMatch(/LDM_LOCK_WAIT[^]*^Exit codes:\n {2}0 +success$/m);
  });
});

describe('version', () => {
  it.each([['version'], ['--version'], ['-V']])('is printed by ldm %s', async (word) => {
    const { code, stdout } = await runLdm([word]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ldm \d+\.\d+\.\d+ \(node \d+\./);
  });

  it('is an object with --json', async () => {
    const { stdout } = await runLdm(['--json', 'version']);
    for (const word of ['version', '--version']) {
      expect((await runBuiltLdm([word], { env: { LDM_JSON: '1' } })).stdout).toBe(stdout);
    }
    expect((await runBuiltLdm(['version'], { env: { LDM_JSON: '0' } })).stdout).toMatch(/^ldm \d/);
    expect(JSON.parse(stdout)).toMatchObject({ message_type: 'version', version: expect.stringMatching(/^\d+\.\d+/) });
  });
});
