import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { createProgram } from '../../src/cli/program.ts';
import { VERBS } from '../../src/cli/verbs.ts';
import { createCommandRunner } from '../../src/console/command-runner.ts';
import { defineDiff } from '../../src/verbs/diff/command.ts';
import { defineCat } from '../../src/verbs/dump/cat-command.ts';
import { withCommandTable } from '../support/command-table.ts';
import { verbExports } from '../support/library-exports.ts';
import { ROOT } from './installed-package.ts';

const README = join(ROOT, 'README.md');
const INDEX = join(ROOT, 'src/index.ts');
const MARKER = '// What follows is made of the verbs by `npm run docs`.\n';

const program = createProgram(createCommandRunner());

it('the table of commands in the README has all commands, and no others', async () => {
  await expect(withCommandTable(readFileSync(README, 'utf8'), program)).toMatchFileSnapshot(README);
});

it('a command that is not registered leaves the table, and what else its row is about stays', () => {
  const fewer = createProgram(
    createCommandRunner(),
    VERBS.filter(({ define }) => define !== defineCat && define !== defineDiff),
  );
  const table = withCommandTable(readFileSync(README, 'utf8'), fewer);
  expect(table).toContain('\n| `dump <snapshot[:path]>` | write a file,');
  expect(table).not.toMatch(/^\| `diff/m);
});

it('the library has what each verb offers', async () => {
  const [written] = readFileSync(INDEX, 'utf8').split(MARKER);
  await expect(`${written}${MARKER}${verbExports(join(ROOT, 'src'))}`).toMatchFileSnapshot(INDEX);
});
