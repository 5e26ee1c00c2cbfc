import type { Command } from 'commander';
import type { CommandRunner } from '../command-runner.ts';
import { EXIT_SUCCESS } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';
import { collect, elementCountValue, rateValue, seedValue, upTo } from '../option-values.ts';

interface CompareFlags {
  readonly elements: number;
  readonly fpr: number;
  readonly seed: number;
  readonly structure?: readonly string[];
  readonly rounds?: number;
  readonly csv?: string;
}

const ROUNDS_MAX = 1000;

const DETAILS = `
Every structure is made for n ids at the rate, gets the same n random ids, is asked for them and for absent ones, and
loses every second where it can delete. A second one, made for n as well, is given 2n. All of this is done with ids that
each structure hashes, and the first part again with uniform ids that each takes as they are. Sizes and rates follow from
n, rate and seed alone; times are processor time on this machine, the fastest of the rounds.`;

export function defineFilterCompare(group: Command, runner: CommandRunner): void {
  group
    .command('compare')
    .description('Measure the structures of the filter family on the same ids, and say which to choose when.')
    .option('-n, --elements <n>', 'how many ids: 10000, 1e6', elementCountValue, 1_000_000)
    .option('--fpr <rate>', 'the false positive rate that each is made for', rateValue, 0.01)
    .option('--seed <n>', 'of the random ids; the same seed gives the same sizes and rates', seedValue, 1)
    .option('--structure <name>', 'only this one; may be repeated', collect)
    .option('--rounds <n>', 'how often to measure; the fastest counts (default: up to 5 for small n)', upTo(ROUNDS_MAX))
    .option('--csv <file>', 'also write the figures as CSV')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter compare -n 1e4', 'all of them, in half a minute'],
          ['ldm filter compare -n 1e7 --structure ldm --structure bloom', 'two of them, with ten million ids'],
          ['ldm filter compare --csv figures.csv', 'a million ids, and the figures for a spreadsheet'],
        ],
        exitCodes: [130],
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, flags: CompareFlags) => {
        const [{ checkStructures, compareFilters }, report, { comparisonCsv }, files] = await Promise.all([
          import('../../operations/filter/compare.ts'),
          import('../reports/filter-compare-report.ts'),
          import('../reports/filter-compare-fields.ts'),
          import('../result-file.ts'),
        ]);
        if (flags.csv !== undefined) files.checkResultFile(flags.csv);
        const options = {
          elements: flags.elements,
          falsePositiveRate: flags.fpr,
          seed: flags.seed,
          structures: flags.structure,
          rounds: flags.rounds,
        };
        checkStructures(flags.structure, flags.fpr);
        report.reportSettings(output, options);
        const result = await compareFilters(context, options, (structure) =>
          report.reportStructure(output, options, structure),
        );
        report.reportComparison(output, options, result);
        if (flags.csv !== undefined) files.writeResultFile(flags.csv, comparisonCsv(options, result));
        return EXIT_SUCCESS;
      }),
    );
}
