import assert from 'node:assert/strict';
import type { EventEmitter } from 'node:events';
import type { Command, Option } from 'commander';

import { createProgram } from '../../src/cli/program.ts';
import { VERBS } from '../../src/cli/verbs.ts';
import { createCommandRunner } from '../../src/console/command-runner.ts';
import { summaryOf } from '../../src/console/options/help-footer.ts';
import { HEADINGS, type Verb } from '../../src/console/verb.ts';

const TABLE = /(?<=^\| command \| purpose \|\n\| --- \| --- \|\n)(?:\|.*\|\n)*/m;

/** Returns a document with its table of commands made again of the everyday commands. */
export function withCommandTable(document: string, program: Command): string {
  assert.match(document, TABLE);
  return document.replace(TABLE, () => rowsOf(program, 'Everyday', 'docs/commands.md'));
}

/** The part of docs/commands.md that follows from the commands: a table for each heading, then all about each command. */
export function commandsPage(program: Command, verbs: readonly Verb[] = VERBS): string {
  const pages = new Map(verbs.map((verb) => [nameOf(verb), verb.page]));
  const headings = HEADINGS.filter((heading) => rowsOf(program, heading, '') !== '');
  return [
    ...headings.map(
      (heading) => `## ${heading}\n\n| command | purpose |\n| --- | --- |\n${rowsOf(program, heading, '')}`,
    ),
    ...headings.flatMap((heading) =>
      commandsBelow(program, heading).flatMap((command) => [
        sectionOf(command, '##', pages.get(command.name())),
        ...command.commands.filter((inner) => inner.name() !== 'help').map((inner) => sectionOf(inner, '###')),
      ]),
    ),
  ].join('\n');
}

function nameOf(verb: Verb): string {
  return createProgram(createCommandRunner(), [verb]).commands[0]!.name();
}

function commandsBelow(program: Command, heading: string): Command[] {
  return program
    .createHelp()
    .visibleCommands(program)
    .filter((command) => command.helpGroup() === `${heading}:`);
}

function rowsOf(program: Command, heading: string, page: string): string {
  const rows = commandsBelow(program, heading).map((command) => {
    const link = `[\`${command.name()}\`](${page}#ldm-${command.name()})`;
    return `| ${[link, code(valuesOf(command))].join(' ').trim()} | ${escaped(summaryOf(command).replace(/\.$/, ''))} |\n`;
  });
  return rows.join('');
}

function valuesOf(command: Command): string {
  return command.commands.length > 0 ? '' : command.usage().replace(/^\[options\] ?/, '');
}

function sectionOf(command: Command, level: string, page?: string): string {
  const name = command.parent!.parent === null ? command.name() : `${command.parent!.name()} ${command.name()}`;
  const help = command.createHelp();
  const options = help.visibleOptions(command).filter(({ long }) => long !== '--help');
  const notes = notesOf(command);
  return [
    `${level} ldm ${name}\n`,
    `\`ldm ${name} ${command.usage()}\`\n`,
    `${escaped(command.description())}${page === undefined ? '' : ` [More](${page})`}\n`,
    tableOf(
      'argument',
      help.visibleArguments(command).map((each) => [each.name(), each.description]),
    ),
    tableOf(
      'option',
      options.map((option) => [option.flags, describe(option)]),
    ),
    notes === '' ? '' : `\`\`\`text\n${notes}\n\`\`\`\n`,
  ]
    .filter((part) => part !== '')
    .join('\n');
}

function describe({ description, argChoices, defaultValue }: Option): string {
  const choices = argChoices === undefined ? [] : [`one of ${argChoices.join(', ')}`];
  const preset = typeof defaultValue === 'string' ? [`default: ${defaultValue}`] : [];
  const notes = [...choices, ...preset].join('; ');
  return notes === '' ? description : `${description} (${notes})`;
}

function tableOf(heading: string, rows: readonly (readonly [term: string, meaning: string])[]): string {
  if (rows.length === 0) return '';
  const lines = rows.map(([term, meaning]) => `| ${code(term)} | ${escaped(meaning)} |\n`);
  return `| ${heading} | meaning |\n| --- | --- |\n${lines.join('')}`;
}

/** What the help says after the options: explanations and examples. The page of exit codes has those. */
function notesOf(command: Command): string {
  let text = '';
  const write = (part: string): void => void (text += `${part}\n`);
  (command as unknown as EventEmitter).emit('afterHelp', { error: false, command, write });
  return text
    .replace(/^Exit codes:\n(?:  .*\n?)+/m, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

/** In a table, where a bar needs a backslash even in code. */
function code(text: string): string {
  return text === '' ? '' : `\`${text.trim().replaceAll('|', '\\|')}\``;
}

/** Escapes what Markdown or a table would interpret, except between backticks. */
function escaped(text: string): string {
  return text
    .replaceAll(/^(?=[+#-])/gm, '\\')
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part.replaceAll('|', '\\|') : part.replaceAll(/[*_<>|[\]~]/g, '\\$&')))
    .join('');
}
