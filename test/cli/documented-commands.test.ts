import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import type { Command, Option } from 'commander';
import { describe, expect, test } from 'vitest';

import { HINTS, HINTS_ABOUT } from '../../src/console/advice.ts';
import { createCommandRunner } from '../../src/console/command-runner.ts';
import { createProgram } from '../../src/cli/program.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PAGES = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => join('docs', name));
const DOCUMENTS = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', ...PAGES].filter((name) =>
  name.endsWith('.md'),
);

const textOf = (document: string): string => readFileSync(join(ROOT, document), 'utf8');

/** Labels of derived keys in `docs/format.md`. They begin like commands. */
const KEY_LABEL = '(?:tree id|stream|gear|records|agents|files of domains|member)';

/** The lines that a document asks its reader to type, each block and each `ldm ...` between backticks. */
function typedLines(text: string): string[] {
  const blocks = [...text.matchAll(/^ *```(console|sh|crontab|ini)\n([^]*?)^ *```$/gm)];
  const lines = blocks.flatMap(([, kind, block]) => {
    const all = block!.split('\n');
    return kind === 'console' ? all.filter((line) => line.startsWith('$ ')) : all.filter((line) => !/^ *#/.test(line));
  });
  const spans = text
    .replaceAll(/^ *```[^]*?^ *```$/gm, '')
    .matchAll(new RegExp(`\`(ldm (?!${KEY_LABEL}\`)[^\`]+)\``, 'g'));
  return [...lines, ...[...spans].map((match) => match[1]!)];
}

/** What follows each `ldm`, up to the end of the command. A substitution or a quoted text counts as one word. */
function commandLines(text: string): string[] {
  return typedLines(text)
    .filter((line) => !line.startsWith('npm run '))
    .map((line) => line.replaceAll(/'[^']*'/g, (quoted) => (quoted.includes('ldm ') ? quoted : 'WORD')))
    .map((line) => line.replaceAll(/\$+\((?:\([^()]*(?:\$+\([^()]*\))?[^()]*\)|[^()]*)\)/g, 'WORD'))
    .flatMap((line) => [...line.matchAll(/(?:^|[\s/])ldm ([^|&;>#)']+)/g)])
    .map((match) => match[1]!.trim());
}

const program = createProgram(createCommandRunner());

function findCommand(from: Command, name: string): Command | undefined {
  return from.commands.find((command) => command.name() === name);
}

function isFlagOf(option: Option, flag: string): boolean {
  return option.short === flag || option.long === flag;
}

/** What is wrong with a command line, if anything. Values are not looked at. */
function problemWith(line: string): string | undefined {
  const words = line.split(/\s+/);
  if (words[0]!.startsWith('<')) return undefined;
  let command = program;
  for (const word of words) {
    // What follows is the command of another program.
    if (word === '--') break;
    // A single dash is an argument: standard input.
    if (word.startsWith('-') && word !== '-') {
      // `-vv` is `-v` twice.
      const flag = word.replace(/=.*$/, '').replace(/^-([a-z])\1+$/i, '-$1');
      if (flag === '--help') return undefined;
      const options = [...program.options, ...command.options];
      if (!options.some((option) => isFlagOf(option, flag))) return `${command.name()} has no option ${flag}`;
    } else {
      command = findCommand(command, word) ?? command;
    }
  }
  return command === program ? 'no command' : undefined;
}

describe.each(DOCUMENTS)('%s', (document) => {
  const text = textOf(document);

  test('has only commands and options that exist', () => {
    const problems = commandLines(text).map((line) => [line, problemWith(line)] as const);
    expect(problems.filter(([, problem]) => problem !== undefined)).toEqual([]);
  });

  test('links to headings that exist', () => {
    for (const [, file, anchor] of text.matchAll(/\]\(([\w./-]*)#([\w-]+)\)/g)) {
      const target = file === '' ? document : join(document, '..', file!);
      const headings = [...textOf(target).matchAll(/^#+ (.*)$/gm)].map((match) =>
        match[1]!
          .toLowerCase()
          .replaceAll(/[^\w\s-]/g, '')
          .replaceAll(' ', '-'),
      );
      expect(headings, `${target}#${anchor}`).toContain(anchor);
    }
  });
});

test('the last column of the tables of commands in docs/switching.md has only those that exist', () => {
  const rows = textOf('docs/switching.md')
    .split('\n## Commands\n')[1]!
    .split('\n## ')[0]!
    .matchAll(/^\|.*\| ([^|]*) \|$/gm);
  const commands = [...rows]
    .flatMap((row) => [...row[1]!.matchAll(/`([^`]+)`/g)].map((match) => match[1]!))
    .filter((words) => !/^(\.|--|LDM_)/.test(words));
  expect(commands.length).toBeGreaterThan(100);
  for (const command of commands) expect(problemWith(command), command).toBeUndefined();
});

test('the documents have commands to look at', () => {
  expect(commandLines(textOf('README.md')).length).toBeGreaterThan(12);
  expect(problemWith('snapshots --keep-daily 7')).toBe('snapshots has no option --keep-daily');
  expect(problemWith('prune')).toBe('no command');
});

test('the advice about errors has only commands that exist', () => {
  const hints = [...Object.values(HINTS), ...Object.values(HINTS_ABOUT).map((hintOn) => hintOn('1a2b3c4d'))];
  const commands = hints.flatMap((hint) => [...hint.matchAll(/`ldm ([^`]+)`/g)].map((match) => match[1]!));
  expect(commands.length).toBeGreaterThan(20);
  for (const command of commands) expect(problemWith(command), command).toBeUndefined();
});

test('the examples in the help have only commands and options that exist', () => {
  const commands = program.commands.flatMap((command) => [command, ...command.commands]);
  const helps = commands.map((command) => {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) });
    command.outputHelp();
    return help;
  });
  const lines = helps.flatMap((help) =>
    [...help.matchAll(/^ {2}ldm (\S+(?: \S+)*) {2}/gm)].map((match) => match[1]!.replaceAll(/"[^"]*"/g, 'WORD')),
  );
  expect(lines.length).toBeGreaterThan(30);
  expect(lines.map((line) => [line, problemWith(line)]).filter(([, problem]) => problem !== undefined)).toEqual([]);
});
