import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { collect, elementCountValue, rateValue, seedValue, upTo } from '../../console/options/option-values.ts';

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
Each structure is created for n ids at the given rate, receives the same n random ids, is queried for them and for absent
ones, and then has every second id deleted if it can delete. A second instance, also created for n, receives 2n. All of
this is done with ids that each structure hashes, and the first part again with uniform ids that each uses directly.
Sizes and rates follow from n, rate and seed; times are processor time on this machine, the fastest of all rounds.`;

export function defineFilterCompare(group: Command, runner: CommandRunner): void {
  group
    .command('compare')
    .description('Measure all structures of the filter family on the same ids.')
    .option('-n, --elements <n>', 'number of ids: 10000, 1e6', elementCountValue, 1_000_000)
    .option('--fpr <rate>', 'false positive rate that each is created for', rateValue, 0.01)
    .option('--seed <n>', 'seed of the random ids; the same seed gives the same sizes and rates', seedValue, 1)
    .option('--structure <name>', 'measure only this structure; may be repeated', collect)
    .option(
      '--rounds <n>',
      'number of measurements, of which the fastest counts (default: up to 5 for small n)',
      upTo(ROUNDS_MAX),
    )
    .option('--csv <file>', 'also write the figures as CSV')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter compare -n 1e4', 'all structures, in half a minute'],
          ['ldm filter compare -n 1e7 --structure ldm --structure bloom', 'two structures, with ten million ids'],
          ['ldm filter compare --csv figures.csv', 'a million ids; figures for a spreadsheet'],
        ],
        exitCodes: [0, 1, 2, 130],
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, flags: CompareFlags) => {
        const [{ checkStructures, compareFilters }, report, { comparisonCsv }, files] = await Promise.all([
          import('./compare.ts'),
          import('./report.ts'),
          import('./report-fields.ts'),
          import('../../console/output/result-file.ts'),
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
