import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { addResultFileOptions } from '../../console/options/result-file-options.ts';
import type { ResultFiles } from '../charts/chart-files.ts';
import { seedValue, upTo } from '../../console/options/option-values.ts';

interface SimulateFlags extends ResultFiles {
  readonly runs: number;
  readonly seed: number;
  readonly samples: number;
}

const RUNS_MAX = 100_000;
/** Each sample is a row of a table. */
const SAMPLES_MAX = 640;

export function defineFilterSimulate(group: Command, runner: CommandRunner): void {
  const command = group
    .command('simulate')
    .description('Repeat the published experiment: the longest chains of LDM and DIBF as a store fills.')
    .option('--runs <n>', 'number of stores to fill; the mean is printed', upTo(RUNS_MAX), 10)
    .option('--seed <n>', 'the same seed gives the same numbers', seedValue, 1)
    .option('--samples <n>', 'number of measurements while a store fills', upTo(SAMPLES_MAX), 16);
  addResultFileOptions(command)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter simulate', 'tables and charts'],
          ['ldm filter simulate --runs 1000 --seed 7 --svg chains.svg', 'less noise, and a chart'],
          ['ldm filter simulate --csv chains.csv --json', 'figures for a script'],
        ],
        exitCodes: [0, 1, 2, 130],
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, { runs, seed, samples, ...files }: SimulateFlags) => {
        const [{ simulateChains }, { reportSimulation }, { formatCsv }, { ResultWriter }, { chainPanels }] =
          await Promise.all([
            import('./simulate.ts'),
            import('./report.ts'),
            import('./simulation-csv.ts'),
            import('../charts/chart-files.ts'),
            import('../charts/chain-chart.ts'),
          ]);
        const writer = await ResultWriter.prepare(files);
        const result = await simulateChains({ runs, seed, samples, signal: context.signal });
        const written = await writer.write(chainPanels(result.groups), () => formatCsv(result));
        reportSimulation(output, result, written);
        return EXIT_SUCCESS;
      }),
    );
}
