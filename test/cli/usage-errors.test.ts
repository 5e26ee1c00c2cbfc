import { describe, expect, it } from 'vitest';
import { createCommandRunner } from '../../src/console/command-runner.ts';
import { FOREIGN_COMMANDS } from '../../src/cli/foreign-commands.ts';
import { FOREIGN_OPTIONS } from '../../src/cli/foreign-options.ts';
import { createProgram } from '../../src/cli/program.ts';
import { runLdmHere as runLdm } from '../support/run-ldm-here.ts';

describe('wrong usage', () => {
  it.each([
    [['frobnicate'], "unknown command 'frobnicate'"],
    [['bakup', '.'], 'Did you mean backup?'],
    [['maintenance'], 'Use `ldm compact`; `ldm delete` already frees the space.'],
    [['prune', '--max-unused', 'much'], 'Give 5%, a size such as 200MiB, or unlimited.'],
    [['compact', '--max-repack-size', 'all'], 'Give a size such as 2GiB, or 0.'],
    [['unlock', '--remove-all'], 'There is nothing to unlock'],
    [['extract', '::monday'], 'Use `ldm restore`.'],
    [['backup'], 'no paths given'],
    [['copy'], '--to <place> is required'],
    [['backup', '--frob', '.'], "unknown option '--frob'"],
    [['stats', 'extra'], 'too many arguments: 1 was given, and the command takes none'],
    [['ls', 'a', 'b', 'c'], 'too many arguments: 3 were given, and the command takes 1'],
    [['ls'], '<snapshot[:path]> is missing'],
    [['restore', 'latest', '-t'], '--target needs a value: <directory>'],
    [['snapshots', '--since', 'noon'], "--since cannot be 'noon'"],
    [['webdav'], 'Use `ldm ui`'],
    [['self-update'], 'Update ldm as you installed it'],
    [
      ['restore', 'latest', '--overwrite', 'maybe'],
      "--overwrite cannot be 'maybe'\nGive never, if-changed, if-newer or always.",
    ],
    [['completion', 'tcsh'], "ldm: <shell> cannot be 'tcsh'\nGive bash, zsh or fish."],
    [['--lock-wait', '5', 'stats'], 'Give a time span such as 30s'],
    [['--threads', '0', 'stats'], 'Give a whole number from 1 up'],
    [['--memory', '100M', 'stats'], 'Give at least 176MiB'],
    [['init', '--chunk-size', 'big'], 'Give a size such as 64MiB'],
    [['init', '--fpr', '2'], 'Give a rate between 0 and 1'],
    [['init', '--capacity', '-3'], 'Give a number of chunks such as 100000'],
    [['compact', '--max-unused', '101'], 'Give a percentage from 0 to 100'],
    [['check', '--read-data=8/7'], 'Give n/m with 1 <= n <= m'],
    [['check', '--new'], '--new needs --read-data'],
    [['check', 'latest', '--read-data', '--new'], '--new cannot be restricted to snapshots'],
    [['check', '--no-key', '--read-data', '--new'], '--new needs the key'],
    [['backup', '.', '--verify-reused', '0%'], 'Give n/m, or a percentage above 0'],
    [['backup', '.', '--verify-reused', '3'], 'Give n/m, or a percentage above 0'],
    [['backup', '.', '--time', 'yesterday'], 'Give a time such as 2026-01-31'],
    [['snapshots', '--latest', '0'], 'Give a whole number from 1 up'],
    [['stats', '-r', ''], 'the value of --repo is empty'],
    [['restore', 'latest', '-t', ''], 'the value of --target is empty'],
    [['stats', '-r', 's3://bucket/ldm'], 'the repository names no server'],
    [['stats', '-r', 'sftp:host:'], 'is not a place on an SFTP server'],
    [['backup', '.', '--time', '2026-02-31'], 'Give a time such as 2026-01-31'],
    [['backup', '.', '-H', ''], 'the value of --host is empty'],
    [['backup', '.', '--tag', ''], 'the value of --tag is empty'],
    [['backup', '.', '-e', 'a\ufffd'], 'Give a pattern in UTF-8'],
    [['backup', '.', '-e', ''], 'the value of --exclude is empty'],
    [['stats', '--lock-wait', ''], 'the value of --lock-wait is empty'],
    [['backup', '.', '-e', '[a'], 'the pattern "[a" is malformed'],
    [['backup', '.', '--tag', 'a,,b'], 'Give a value that is not empty'],
    [['backup', ''], 'an argument is empty'],
    [['restore', 'latest', '-n', '-t', 'a', '--target=b'], '--target was given more than once'],
    [['-r', 'a', 'stats', '-r', 'b'], '--repo was given more than once'],
    [['backup', '.', '-n', '--time', '2026-01-01', '--time', '2026-01-01'], '--time was given more than once'],
    [
      ['restore', 'latest', '-n', '--overwrite', 'never', '--overwrite', 'never'],
      '--overwrite was given more than once',
    ],
    [['check', '--read-data=1/2', '--read-data'], '--read-data was given more than once'],
    [['filter', 'simulate', '--svg', ''], 'the value of --svg is empty'],
    [['check', '--read-data-subset', '0%'], 'Give n/m, a percentage above 0 and up to 100'],
    [['check', '--read-data-subset', '101%'], 'Give n/m, a percentage above 0 and up to 100'],
    [['delete', 'latest', '--undo-for', '0d'], 'Give a span from now, such as 7d'],
    [['delete', 'latest', '--undo-for', 'foo'], 'Give a span from now, such as 7d'],
    [['backup', '.', '--keep-until', '2020-01-01'], 'Give a span from now, such as 7d'],
  ])('%j ends with exit 2, and any hint on its own line', async (args, expected) => {
    const { code, stdout, stderr } = await runLdm(args);
    expect(stderr).toContain(expected);
    expect(stderr).toMatch(/^ldm: [^\n]+\n(?:[A-Z][^\n]+[.?]\n)?$/);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  it('answers the commands of other tools with commands that exist', () => {
    const names = new Set(createProgram(createCommandRunner()).commands.map((command) => command.name()));
    for (const [foreign, answer] of FOREIGN_COMMANDS) {
      expect(names).not.toContain(foreign);
      for (const [, name] of answer.matchAll(/`ldm ([a-z-]+)/g)) expect(names).toContain(name);
    }
  });

  it('answers the options of other tools with commands and options that exist', async () => {
    const { commands } = createProgram(createCommandRunner());
    const options = new Set(commands.flatMap((command) => command.options.map(({ long }) => long)));
    for (const answer of FOREIGN_OPTIONS.values()) {
      for (const [, name] of answer.matchAll(/`ldm ([a-z-]+)/g))
        expect(commands.map((each) => each.name())).toContain(name);
      for (const [name] of answer.matchAll(/--[a-z-]+/g)) expect(options).toContain(name);
    }
    const { code, stderr } = await runLdm(['forget', '--keep-last', '1', '--prune']);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "ldm: unknown option '--prune'\n" + FOREIGN_OPTIONS.get('--prune')! + '\n',
    });
  });

  it('names the help of the command that was meant', async () => {
    const { stderr } = await runLdm(['backup', '--frob']);
    expect(stderr).toBe("ldm: unknown option '--frob'\nSee `ldm backup --help`.\n");
  });

  it('is one JSON object on stderr with --json', async () => {
    const { code, stdout, stderr } = await runLdm(['frobnicate', '--json']);
    expect(JSON.parse(stderr)).toMatchObject({
      message_type: 'exit_error',
      code: 2,
      message: "unknown command 'frobnicate'",
    });
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  it.each([[[]], [['key']], [['group']]])('%j without a command is an error alone with --json', async (group) => {
    const { code, stdout, stderr } = await runLdm([...group, '--json']);
    expect(JSON.parse(stderr)).toMatchObject({ message_type: 'exit_error', code: 2, message: 'no command given' });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect((await runLdm(group)).stderr).toMatch(/^Usage: ldm/);
  });

  it('does not drive the terminal with what was mistyped', async () => {
    const { stderr } = await runLdm(['\u001b[31mred']);
    expect(stderr).not.toContain('\u001b');
    expect(stderr).toContain('\\x1b[31mred');
  });
});

describe('the environment', () => {
  it.each(['0', '-1', '61', 'often', 'NaN'])('refuses LDM_PROGRESS_FPS=%s', async (fps) => {
    const { code, stderr } = await runLdm(['stats'], { env: { LDM_PROGRESS_FPS: fps } });
    expect(stderr).toContain(`LDM_PROGRESS_FPS is "${fps}"`);
    expect(code).toBe(2);
  });
});
