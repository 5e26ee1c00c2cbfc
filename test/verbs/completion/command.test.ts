import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createCommandRunner } from '../../../src/console/command-runner.ts';
import { complete } from '../../../src/verbs/completion/candidates.ts';
import { readCommandLine } from '../../../src/verbs/completion/command-line.ts';
import { attributeOf, grammarOf } from '../../../src/verbs/completion/grammar.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { runLdmHere } from '../../support/run-ldm-here.ts';
import { ldmProgram } from '../../support/run-ldm.ts';
import { inSoak } from '../../support/soak.ts';
import { makeTemporaryDirectory } from '../../support/temp-directory.ts';
import { converse, hasTerminal } from '../../support/terminal-conversation.ts';

const home = makeTemporaryDirectory();
const repository = join(home, 'repository');
const environment = { ...process.env, HOME: home, TERM: 'dumb', PATH: `${join(home, 'bin')}:${process.env['PATH']}` };
let id = '';

beforeAll(async () => {
  mkdirSync(join(home, 'bin'));
  symlinkSync(ldmProgram, join(home, 'bin', 'ldm'));
  mkdirSync(join(home, 'data', 'my photos'), { recursive: true });
  writeFileSync(join(home, 'data', 'my photos', 'a.jpg'), 'a');
  await runLdmHere(['-r', repository, 'init', '--no-encryption']);
  const { stdout } = await runLdmHere(['-r', repository, '--json', 'backup', join(home, 'data')]);
  id = (JSON.parse(stdout.trim().split('\n').at(-1)!) as { snapshot_id: string }).snapshot_id.slice(0, 8);
});

afterAll(() => rmSync(home, { recursive: true }));

/** What `ldm` answers to fish, which takes complete words. */
async function answer(...words: readonly string[]): Promise<string[]> {
  const { stdout, stderr, code } = await runLdmHere(['complete', 'fish', '--', ...words]);
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  return stdout.split('\n').slice(0, -1);
}

async function valuesOf(...words: readonly string[]): Promise<(string | undefined)[]> {
  return (await answer(...words)).slice(1).map((line) => line.split('\t')[0]);
}

describe('the word at the cursor is completed', () => {
  it('as a command', async () => {
    expect(await valuesOf('re')).toEqual(expect.arrayContaining(['restore', 'repair']));
    expect(await valuesOf('key', 'ad')).toEqual(['add']);
    expect(await valuesOf('-r', repository, 'filter', 'pl')).toEqual(['plan']);
  });

  it('as an option of the command or of all commands', async () => {
    expect(await valuesOf('restore', '--ov')).toEqual(['--overwrite']);
    expect(await valuesOf('restore', 'latest', '--js')).toEqual(['--json']);
    expect(await valuesOf('--', 'restore', '--ov')).toEqual([]);
  });

  it('as one of the values that an option takes', async () => {
    expect(await valuesOf('restore', '--overwrite', 'if')).toEqual(['if-changed', 'if-newer']);
    expect(await valuesOf('restore', '--overwrite=a')).toEqual(['--overwrite=always']);
  });

  it('by the shell if it is a name of a file', async () => {
    expect(await answer('backup', '/u')).toEqual(['files']);
    expect(await answer('restore', '--target', '/u')).toEqual(['directories']);
    expect(await answer('restore', '--target=/u')).toEqual(['directories']);
    expect(await answer('restore', '--host', 'a')).toEqual(['']);
  });

  it('as a snapshot of the repository that the line names', async () => {
    expect(await valuesOf('-r', repository, 'restore', '')).toEqual(['latest', id]);
    expect(await valuesOf('restore', `--repo=${repository}`, id.slice(0, 2))).toEqual([id]);
    expect(await valuesOf('delete', '-r', repository, id, 'la')).toEqual(['latest']);
    expect(await valuesOf('undelete', '-r', repository, '')).toEqual([]);
  });

  it('as a path in the snapshot', async () => {
    expect(await valuesOf('-r', repository, 'restore', 'latest:')).toEqual(['latest:data/']);
    // What has no meaning without a path is completed in the same way.
    expect(await valuesOf('-r', repository, 'cat', 'latest:')).toEqual(['latest:data/']);
    expect(await valuesOf('-r', repository, 'ls', `${id}:data/my`)).toEqual([`${id}:data/my photos/`]);
  });

  it('not, and without a word, where there is no repository or no such snapshot', async () => {
    expect(await answer('-r', join(home, 'none'), 'restore', '')).toEqual(['']);
    expect(await answer('-r', repository, 'restore', 'abcd:')).toEqual(['']);
  });
});

it('options have the names that commander gives to their values', () => {
  const names = (command: ReturnType<typeof createProgram>): string[] => [
    ...command.options.map((option) => option.attributeName()),
    ...command.commands.flatMap((inner) => names(inner)),
  ];
  const read = (command: ReturnType<typeof grammarOf>): string[] => [
    ...command.options.filter(({ flags }) => !flags.includes('--help')).map((option) => attributeOf(option)),
    ...command.commands.flatMap((inner) => read(inner)),
  ];
  const program = createProgram(createCommandRunner());
  expect(read(grammarOf(program))).toEqual(names(program).filter((name) => name !== 'help'));
});

it('every argument is completed as something, with few exceptions', () => {
  const program = createProgram(createCommandRunner());
  const unknown: string[] = [];
  const visit = (names: readonly string[], command: typeof program): void => {
    for (const inner of command.commands) visit([...names, inner.name()], inner);
    for (const [index, argument] of command.registeredArguments.entries()) {
      const words = [...names, ...Array.from({ length: index }, () => 'x'), ''];
      const { candidates, wanted } = complete(readCommandLine(grammarOf(program), words));
      if (candidates.length === 0 && wanted === undefined) unknown.push(argument.name());
    }
  };
  visit([], program);
  // Names of commands, groups and domains, ids of chunks and keys, patterns, and what the scripts call themselves.
  expect([...new Set(unknown)].toSorted()).toEqual([
    'command',
    'domain',
    'keys',
    'n',
    'name',
    'patterns',
    'shell',
    'target',
    'words',
  ]);
});

describe.each([
  ['bash', ['--norc', '-i'], 'source <(ldm completion bash)'],
  ['zsh', ['-f', '-i'], 'autoload -Uz compinit; compinit -u -D; source <(ldm completion zsh)'],
] as const)('in %s', (shell, options, load) => {
  const isInstalled = spawnSync(shell, ['--version']).status === 0;

  it('a tabulator completes', async ({ skip }) => {
    skip(!hasTerminal || !isInstalled, `${shell}, or the program script, is not installed`);
    const terminal = converse([shell, ...options].join(' '), environment);
    // The answer must differ from what is typed, which the terminal shows too.
    terminal.type(`${load}; echo loaded-$((40 + 2))\n`);
    await terminal.until('loaded-42');
    terminal.type(`ldm -r ${repository} restore ${id.slice(0, 6)}\t`);
    await terminal.until(id);
    // To a shell, an option is one more word without a space in it.
    if (inSoak(true, false)) {
      terminal.type('\x15ldm restore --overwr\t');
      await terminal.until('--overwrite');
    }
    terminal.type(`\x15ldm -r ${repository} ls latest:data/m\t`);
    await terminal.until('my\\ photos/');
    terminal.type('\x15exit\n');
    expect(await terminal.ended).toBe(0);
  });
});

it('fish completes', ({ skip }) => {
  skip(spawnSync('fish', ['--version']).status !== 0, 'fish is not installed');
  const expected = [
    [`ldm -r ${repository} restore `, ['latest', id]],
    ['ldm restore --overwr', ['--overwrite']],
    [`ldm -r ${repository} ls latest:data/m`, ['latest:data/my photos/']],
    [`ldm restore --target ${home}/da`, [`${home}/data/`]],
    [`ldm backup ${home}/da`, [`${home}/data/`]],
  ] as const;
  const lines = expected.map(([commandLine]) => `complete -C '${commandLine}'; echo`);
  const script = ['ldm completion fish | source', ...lines].join('\n');
  const { stdout } = spawnSync('fish', ['--no-config', '-c', script], { env: environment, encoding: 'utf8' });
  const found = stdout.split('\n\n').map((lists) => lists.split('\n').map((line) => line.split('\t')[0]!));
  for (const [index, [commandLine, candidates]] of expected.entries()) {
    expect(found[index], commandLine).toEqual(expect.arrayContaining([...candidates]));
  }
});
