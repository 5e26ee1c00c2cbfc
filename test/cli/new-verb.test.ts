import { expect, it } from 'vitest';

import { manPagesOf } from '../../src/cli/man-page.ts';
import { createProgram } from '../../src/cli/program.ts';
import { VERBS } from '../../src/cli/verbs.ts';
import { createCommandRunner } from '../../src/console/command-runner.ts';
import { formatHelpFooter } from '../../src/console/options/help-footer.ts';
import type { Verb } from '../../src/console/verb.ts';
import { complete } from '../../src/verbs/completion/candidates.ts';
import { readCommandLine } from '../../src/verbs/completion/command-line.ts';
import { jsonPage } from '../support/json-page.ts';
import { commandSchemas } from '../support/json-schemas.ts';

/** Known only here. */
const weigh: Verb = {
  heading: 'Inspect',
  define(program, runner) {
    program
      .command('weigh')
      .description('Print what a repository weighs. In grams.')
      .option('--heavy', 'round up')
      .addHelpText('after', formatHelpFooter({ examples: [['ldm weigh', 'all of it']], exitCodes: [0, 12] }))
      .action(runner.inSession(async () => 0));
  },
};
const program = createProgram(createCommandRunner(), [...VERBS, weigh]);
program.configureHelp({ ...program.configureHelp(), helpWidth: 100 });

it('a verb that is only in the list of verbs has its help, below its heading', () => {
  expect(program.helpInformation()).toMatch(/Inspect:\n(?: {2}.*\n)* {2}weigh +Print what a repository weighs\.\n/);
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
    complete(readCommandLine(program, words))
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
