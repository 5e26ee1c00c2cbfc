import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { seedValue, upTo } from '../../console/options/option-values.ts';

interface SimulateFlags {
  readonly runs: number;
  readonly seed: number;
  readonly samples: number;
  readonly svg?: string;
  readonly png?: string;
  readonly csv?: string;
}

const RUNS_MAX = 100_000;
/** Each sample is a row of a table. */
const SAMPLES_MAX = 640;

export function defineFilterSimulate(group: Command, runner: CommandRunner): void {
  group
    .command('simulate')
    .description('Repeat the published experiment: the longest chains of LDM and DIBF as a store fills.')
    .option('--runs <n>', 'number of stores to fill; the mean is printed', upTo(RUNS_MAX), 10)
    .option('--seed <n>', 'the same seed gives the same numbers', seedValue, 1)
    .option('--samples <n>', 'number of measurements while a store fills', upTo(SAMPLES_MAX), 16)
    .option('--svg <file>', 'write the chart as SVG (needs the package vega)')
    .option('--png <file>', 'write the chart as PNG (needs vega, @resvg/resvg-js and dejavu-fonts-ttf)')
    .option('--csv <file>', 'write all figures as CSV')
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
        const [{ simulateChains }, { reportSimulation }, { loadPainter, writeSimulation }, { checkResultFile }] =
          await Promise.all([
            import('./simulate.ts'),
            import('./report.ts'),
            import('./report-files.ts'),
            import('../../console/output/result-file.ts'),
          ]);
        for (const file of [files.svg, files.png, files.csv]) if (file !== undefined) checkResultFile(file);
        const painter = await loadPainter(files);
        const result = await simulateChains({ runs, seed, samples, signal: context.signal });
        reportSimulation(output, result, await writeSimulation(result, files, painter));
        return EXIT_SUCCESS;
      }),
    );
}
