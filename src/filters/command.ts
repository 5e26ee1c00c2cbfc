import type { Command } from 'commander';
import type { CommandRunner } from '../console/command-runner.ts';
import { defineHelp } from '../console/help-command.ts';
import { REPOSITORY_EXIT_CODES } from '../console/exit-codes.ts';
import { formatHelpFooter } from '../console/options/help-footer.ts';
import { defineFilterCompare } from './compare/command.ts';
import { defineFilterExport } from './export/command.ts';
import { defineFilterInspect } from './inspect/command.ts';
import { defineFilterLoadTest } from './load-test/command.ts';
import { defineFilterMake } from './make/command.ts';
import { defineFilterPlan } from './plan/command.ts';
import { defineFilterSimulate } from './simulate/command.ts';
import { defineFilterTest } from './test/command.ts';

/** In the order of the help: from planning a filter to examining one. */
const DEFINITIONS: readonly ((group: Command, runner: CommandRunner) => void)[] = [
  defineFilterPlan,
  defineFilterSimulate,
  defineFilterCompare,
  defineFilterLoadTest,
  defineFilterMake,
  defineFilterInspect,
  defineFilterExport,
  defineFilterTest,
];

export function defineFilter(program: Command, runner: CommandRunner): void {
  const group = program
    .command('filter')
    .description(
      'Plan, inspect, compare and export LDM filters. Also simulates them, and makes and queries filters of any keys.',
    )
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
