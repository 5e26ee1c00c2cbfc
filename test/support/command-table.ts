import assert from 'node:assert/strict';
import type { Command } from 'commander';

import { summaryOf } from '../../src/console/options/help-footer.ts';

const TABLE = /(?<=^\| command \| purpose \|\n\| --- \| --- \|\n)(?:\|.*\|\n)+/m;
/** Some rows are about several commands: `undelete`, `compact`. */
const TERM = /`([\w-]+)[^`]*`/g;

/**
 * Returns a document with its table of commands as the commands of the program want it. The words and the order of its rows
 * are those of the document; a command that is gone leaves them, and one without a row gets the first sentence of its help.
 */
export function withCommandTable(document: string, program: Command): string {
  assert.match(document, TABLE);
  const commands = program.createHelp().visibleCommands(program);
  const names = new Set(commands.map((command) => command.name()));
  return document.replace(TABLE, (table) => {
    const kept = table.replaceAll(/^\| (.*?) \| (.*) \|\n/gm, (_row, terms: string, purpose: string) => {
      const left = [...terms.matchAll(TERM)].filter(([, name]) => names.has(name!));
      return left.length === 0 ? '' : `| ${left.map(([term]) => term).join(', ')} | ${purpose} |\n`;
    });
    const listed = new Set([...kept.matchAll(/^\| (.*?) \|/gm)].flatMap(([, terms]) => namesIn(terms!)));
    const missing = commands.filter((command) => command.name() !== 'help' && !listed.has(command.name()));
    return kept + missing.map(rowOf).join('');
  });
}

function namesIn(terms: string): string[] {
  return [...terms.matchAll(TERM)].map(([, name]) => name!);
}

function rowOf(command: Command): string {
  const values = command.commands.length > 0 ? '...' : command.usage().replace(/^\[options\] ?/, '');
  const purpose = summaryOf(command).replace(/\.$/, '');
  return `| \`${`${command.name()} ${values}`.trim()}\` | ${purpose.charAt(0).toLowerCase()}${purpose.slice(1)} |\n`;
}
