import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { manPagesOf } from '../../src/cli/man-page.ts';
import { createProgram } from '../../src/cli/program.ts';
import { VERBS } from '../../src/cli/verbs.ts';
import { createCommandRunner } from '../../src/console/command-runner.ts';
import { formatHelpFooter } from '../../src/console/options/help-footer.ts';
import type { Verb } from '../../src/console/verb.ts';
import { complete } from '../../src/verbs/completion/candidates.ts';
import { readCommandLine } from '../../src/verbs/completion/command-line.ts';
import { grammarOf } from '../../src/verbs/completion/grammar.ts';
import { commandsPage } from '../support/commands-page.ts';
import { jsonPage } from '../support/json-page.ts';
import { commandSchemas } from '../support/json-schemas.ts';
import { verbExports } from '../support/library-exports.ts';
import { makeTemporaryDirectory } from '../support/temp-directory.ts';

/** Known only here. */
const weigh: Verb = {
  heading: 'Files',
  define(program, runner) {
    program
      .command('weigh <snapshot...>')
      .description('Print what a repository weighs. In grams.')
      .option('--heavy', 'round up')
      .addHelpText('after', formatHelpFooter({ examples: [['ldm weigh', 'all of it']], exitCodes: [0, 12] }))
      .action(runner.inSession(async () => 0));
  },
};
const program = createProgram(createCommandRunner(), [...VERBS, weigh]);
program.configureHelp({ ...program.configureHelp(), helpWidth: 100 });

it('a verb that is only in the list of verbs has its help, below its heading', () => {
  expect(program.helpInformation()).toMatch(/Files:\n(?: {2}.*\n)* {2}weigh +Print what a repository weighs\n/);
});

it('has a man page with its options and exit codes', () => {
  const pages = manPagesOf(program, '1.0.0');
  expect(pages.get('ldm-weigh.1')).toMatch(
    /round up[^]*\.SH "EXIT CODES"\n\.nf\n {2}0 {3}success\n {2}12 {2}no password/,
  );
  expect(pages.get('ldm.1')).toContain('ldm\\-weigh(1)');
});

it('is completed, and so are its options', () => {
  const candidatesOf = (...words: string[]): unknown =>
    complete(readCommandLine(grammarOf(program), words))
      .candidates.map(({ value }) => value)
      .filter((value) => value.startsWith(words.at(-1)!));
  expect(candidatesOf('wei')).toEqual(['weigh']);
  expect(candidatesOf('weigh', '--hea')).toEqual(['--heavy']);
});

it('has its messages in the JSON reference if there is a schema beside it', () => {
  const message = { title: 'weight', description: 'What it weighs.', properties: { grams: { type: 'integer' } } };
  const schema = { title: 'ldm weigh', description: 'What `ldm weigh` prints.', oneOf: [message] };
  const page = jsonPage(new Map([...commandSchemas, ['weigh', schema]]));
  expect(page).toContain('## ldm weigh\n\nWhat `ldm weigh` prints. Schema: [weigh.json](schemas/weigh.json).');
  expect(page).toContain(
    '### `weight`\n\nWhat it weighs.\n\n| field | type | meaning |\n| --- | --- | --- |\n| `grams` |',
  );
});

it('has a row and a section in the page of commands', () => {
  const page = commandsPage(program, [...VERBS, weigh]);
  expect(page).toContain('\n| [`weigh`](#ldm-weigh) `<snapshot...>` | Print what a repository weighs |\n');
  expect(page).toContain(
    '\n## ldm weigh\n\n`ldm weigh [options] <snapshot...>`\n\nPrint what a repository weighs. In grams.',
  );
  expect(page).toContain('| `--heavy` | round up |\n');
});

it('is in the library with what its folder offers', async () => {
  const src = makeTemporaryDirectory();
  onTestFinished(() => rmSync(src, { recursive: true, force: true }));
  for (const folder of ['cli', 'verbs/weigh']) mkdirSync(join(src, folder), { recursive: true });
  writeFileSync(join(src, 'cli/verbs.ts'), "import { defineWeigh } from '../verbs/weigh/command.ts';\n");
  writeFileSync(join(src, 'verbs/weigh/weigh.ts'), 'export const weigh = (): number => 12;\n');
  writeFileSync(join(src, 'index.ts'), verbExports(src));
  const library = (await import(join(src, 'index.ts'))) as { readonly weigh?: () => number };
  expect(library.weigh?.()).toBe(12);
});
