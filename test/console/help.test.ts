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
      'show',
      'snapshots',
      'stats',
      'status',
      'tag',
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
    expect(stdout).toMatch(new RegExp(`Examples:\n  ldm ${name}`));
    expect(stdout).toMatch(/Exit codes:\n {2}0 +success/);
    expect(stdout).toContain('--lock-wait');
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
    expect(asked.stdout).toMatch(/^Everyday:\n {2}backup .*^Inside:\n {2}filter /ms);
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

it('the list of commands fits in 80 columns, with a sentence about each', async () => {
  const { stdout } = await runLdm(['--help']);
  for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  expect(stdout).toMatch(/^ {2}diff {20,}List the differences/m);
  expect(stdout).toMatch(/machine\.\n {2}du /);
  expect(stdout).toMatch(/^ {2}compact\|prune /m);
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
