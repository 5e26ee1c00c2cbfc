import type { Command } from 'commander';
import type { CommandRunner } from '../command-runner.ts';
import { defineHelp } from './help.ts';
import { REPOSITORY_EXIT_CODES } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';
import { defineFilterCompare } from './filter-compare.ts';
import { defineFilterExport } from './filter-export.ts';
import { defineFilterInspect } from './filter-inspect.ts';
import { defineFilterLoadTest } from './filter-load-test.ts';
import { defineFilterPlan } from './filter-plan.ts';
import { defineFilterSimulate } from './filter-simulate.ts';
import { defineFilterTest } from './filter-test.ts';

/** In the order of the help: from planning a filter to examining one. */
const DEFINITIONS: readonly ((group: Command, runner: CommandRunner) => void)[] = [
  defineFilterPlan,
  defineFilterSimulate,
  defineFilterCompare,
  defineFilterLoadTest,
  defineFilterInspect,
  defineFilterExport,
  defineFilterTest,
];

export function defineFilter(program: Command, runner: CommandRunner): void {
  const group = program
    .command('filter')
    .description('Plan, inspect, simulate, compare and export LDM filters.')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter plan --capacity 40GB --chunk-size 64MB', 'size a filter'],
          ['ldm filter inspect', "show the repository's own"],
          ['ldm filter plan --help', 'explain a command'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    );
  for (const define of DEFINITIONS) define(group, runner);
  defineHelp(group, 'filter help plan');
}
