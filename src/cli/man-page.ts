import type { EventEmitter } from 'node:events';
import type { Argument, Command, Option } from 'commander';
import { summaryOf } from '../console/options/help-footer.ts';
import { PROGRAM_FOOTER, isUsual } from './program-help.ts';

/** Returns the pages of a program and of all its commands, by file name, in the macros of man(7). */
export function manPagesOf(program: Command, version: string): Map<string, string> {
  const pages = new Map<string, string>();
  const visit = (command: Command): void => {
    pages.set(`${pageNameOf(command)}.1`, manPage(command, version));
    for (const inner of pagedCommands(command)) visit(inner);
  };
  visit(program);
  return pages;
}

/** The `help` of a group has no page: it prints what the page of the group says. */
function pagedCommands(command: Command): Command[] {
  const isPaged = (inner: Command): boolean => inner.name() !== 'help' || command.parent === null;
  return [...command.createHelp().visibleCommands(command)].filter(isPaged);
}

function manPage(command: Command, version: string): string {
  const help = command.createHelp();
  const name = pageNameOf(command);
  const inner = pagedCommands(command);
  return [
    // Without a date, so that the same version always has the same pages.
    `.TH ${quoted(name.toUpperCase())} 1 "" ${quoted(`ldm ${version}`)} ${quoted('ldm manual')}`,
    section('Name', [`${escaped(name)} \\- ${escaped(summaryOf(command).replace(/\.$/, ''))}`]),
    section('Synopsis', [`.B ${escaped(fullName(command))}`, escaped(command.usage())]),
    section('Description', [paragraphs(command.description())]),
    section('Arguments', help.visibleArguments(command).flatMap(argumentLines)),
    section(
      'Commands',
      inner.flatMap((each) => item(escaped(each.name()), `${summaryOf(each)} See ${pageNameOf(each)}(1).`)),
    ),
    section('Options', help.visibleOptions(command).flatMap(optionLines)),
    section('Global options', globalLines(help.visibleGlobalOptions(command))),
    ...textSections(afterHelpOf(command)),
    section('See also', [seeAlso(command, inner)]),
    '\n',
  ].join('');
}

/** `ldm filter plan` -> `ldm-filter-plan`, as `man ldm filter plan` looks for it. */
function pageNameOf(command: Command): string {
  return fullName(command).replaceAll(' ', '-');
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

function argumentLines(argument: Argument): string[] {
  return item(`\\fI${escaped(argument.name())}\\fR`, argument.description);
}

function optionLines(option: Option): string[] {
  const choices = option.argChoices === undefined ? [] : [`one of ${option.argChoices.join(', ')}`];
  const preset = typeof option.defaultValue === 'string' ? [`default: ${option.defaultValue}`] : [];
  const notes = [...choices, ...preset];
  return item(
    `\\fB${escaped(option.flags)}\\fR`,
    `${option.description}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}`,
  );
}

/** Every page with all of them would take twice the space. */
function globalLines(options: readonly Option[]): string[] {
  if (options.length === 0) return [];
  return [...options.filter(isUsual).flatMap(optionLines), '.PP', 'See ldm(1) for all others.'];
}

function item(term: string, description: string): string[] {
  return ['.TP', term, escaped(description)];
}

function seeAlso(command: Command, inner: readonly Command[]): string {
  const parents = command.parent === null ? [] : [command.parent];
  const names = [...parents, ...inner].map((each) => `.BR ${escaped(pageNameOf(each))} (1)`);
  return names.join(',\n');
}

/** The text after the list of options: examples, exit codes and explanations. */
function afterHelpOf(command: Command): string {
  if (command.parent === null) return PROGRAM_FOOTER;
  let text = '';
  const write = (part: string): void => void (text += `${part}\n`);
  (command as unknown as EventEmitter).emit('afterHelp', { error: false, command, write });
  return text;
}

const HEADING = /^([A-Z][^:\n]*):$/;

/** Text with headings such as `Examples:`. */
function textSections(text: string): string[] {
  const sections: string[] = [];
  let heading = 'Notes';
  let lines: string[] = [];
  const finish = (): void => {
    const body = lines.join('\n').replaceAll(/^\n+|\s+$/g, '');
    if (body !== '') sections.push(section(heading, [paragraphs(body)]));
    lines = [];
  };
  for (const line of text.split('\n')) {
    const found = HEADING.exec(line);
    if (found === null) {
      lines.push(line);
    } else {
      finish();
      heading = found[1]!;
    }
  }
  finish();
  return sections;
}

const IN_COLUMNS = /\S {2,}\S/;

/** Formats paragraphs with an empty line between them. */
function paragraphs(text: string): string {
  return text
    .split(/\n\s*\n/)
    .map((paragraph) => (paragraph.match(/(?:^ .*\n?)+|(?:^\S.*\n?)+/gm) ?? []).map(block).join('\n'))
    .join('\n.PP\n');
}

/** Consecutive lines that are all indented, or all not: if any of them has columns they stay, else they are filled. */
function block(text: string): string {
  const lines = text.trimEnd();
  return IN_COLUMNS.test(lines) ? `.nf\n${escaped(lines)}\n.fi` : escaped(lines.replaceAll(/^ +/gm, ''));
}

function section(heading: string, lines: readonly string[]): string {
  const body = lines.filter((line) => line !== '');
  return body.length === 0 ? '' : `\n${[`.SH ${quoted(heading.toUpperCase())}`, ...body].join('\n')}`;
}

/** Returns text in which roff finds no requests: no line begins with a dot or quote, and backslashes are printed. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^(['.])/gm, '\\&$1');
}

function quoted(text: string): string {
  return `"${escaped(text).replaceAll('"', '\\(dq')}"`;
}
