import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { createProgram } from '../../src/cli/program.ts';
import { VERBS } from '../../src/cli/verbs.ts';
import { createCommandRunner } from '../../src/console/command-runner.ts';
import { defineDiff } from '../../src/verbs/diff/command.ts';
import { commandsPage, withCommandTable } from '../support/commands-page.ts';
import { verbExports } from '../support/library-exports.ts';
import { ROOT } from './installed-package.ts';

const README = join(ROOT, 'README.md');
const COMMANDS = join(ROOT, 'docs/commands.md');
const INDEX = join(ROOT, 'src/index.ts');
const MARKER = '// What follows is made of the verbs by `npm run docs`.\n';
const PAGE_MARKER = '<!-- What follows is made of the commands by `npm run docs`. -->\n\n';

const program = createProgram(createCommandRunner());

it('the table of commands in the README has the everyday ones', async () => {
  await expect(withCommandTable(readFileSync(README, 'utf8'), program)).toMatchFileSnapshot(README);
});

it('the README has at most 150 lines', () => {
  expect(readFileSync(README, 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(150);
});

it('the page of commands has all of them, with their options', async () => {
  const [written] = readFileSync(COMMANDS, 'utf8').split(PAGE_MARKER);
  await expect(`${written}${PAGE_MARKER}${commandsPage(program)}`).toMatchFileSnapshot(COMMANDS);
});

it('a command that is not registered is in neither', () => {
  const verbs = VERBS.filter(({ define }) => define !== defineDiff);
  const fewer = createProgram(createCommandRunner(), verbs);
  const table = withCommandTable(readFileSync(README, 'utf8'), fewer);
  expect(table).toContain('\n| [`check`](');
  expect(table).not.toContain('[`diff`]');
  expect(commandsPage(fewer, verbs)).not.toContain('ldm-diff');
});

it('the library has what each verb offers', async () => {
  const [written] = readFileSync(INDEX, 'utf8').split(MARKER);
  await expect(`${written}${MARKER}${verbExports(join(ROOT, 'src'))}`).toMatchFileSnapshot(INDEX);
});
