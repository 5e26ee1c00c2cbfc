import { describe, expect, it } from 'vitest';

import { createCommandRunner } from '../../src/cli/command-runner.ts';
import { createProgram } from '../../src/cli/program.ts';
import { runLdmHere as runLdm } from '../support/run-ldm-here.ts';

const commandNames = createProgram(createCommandRunner()).commands.map((command) => command.name());

describe('help', () => {
  it('knows every command of the tool', () => {
    expect(commandNames.toSorted()).toEqual([
      'backup',
      'check',
      'compact',
      'copy',
      'delete',
      'filter',
      'help',
      'init',
      'key',
      'ls',
      'repair',
      'restore',
      'snapshots',
      'stats',
      'undelete',
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
    expect(asked.stdout).toContain('Commands:');
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

describe('version', () => {
  it.each([['version'], ['--version'], ['-V']])('is printed by ldm %s', async (word) => {
    const { code, stdout } = await runLdm([word]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ldm \d+\.\d+\.\d+ \(node \d+\./);
  });

  it('is an object with --json', async () => {
    const { stdout } = await runLdm(['--json', 'version']);
    expect(JSON.parse(stdout)).toMatchObject({ message_type: 'version', version: expect.stringMatching(/^\d+\.\d+/) });
  });
});
