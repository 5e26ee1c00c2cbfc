import type { Command } from 'commander';
import type { ResultFiles } from '../charts/chart-files.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { addResultFileOptions } from '../../console/options/result-file-options.ts';
import { seedValue, upTo } from '../../console/options/option-values.ts';

interface LoadTestFlags extends ResultFiles {
  readonly seed: number;
  readonly ids: number;
  readonly lookUps: number;
  readonly serviceMs: number;
  readonly atOnce: number;
}

const IDS_MAX = 1_000_000;
const LOOK_UPS_MAX = 100_000;
const SERVICE_MS_MAX = 10_000;
const AT_ONCE_MAX = 1000;

const DETAILS = `
10 to 100 users look for chunks in 8 domains, half of them absent: by asking domain after domain, and by asking only the
domains whose filter says "perhaps". The times are those of a model: a question takes the measured time of the look-up in a domain and
a random service time, and waits while the domain is busy. A second table shows the memory of each structure. A third one
shows what a domain with 100 times as many chunks publishes, of which one in 1,000 changes each night: the bytes, and the
time until another domain has the changes in its filters.`;

export function defineFilterLoadTest(group: Command, runner: CommandRunner): void {
  const command = group
    .command('load-test')
    .description('Measure what asking domains by filter saves, and the memory of each structure.')
    .option('--seed <n>', 'the same seed gives the same questions and sizes', seedValue, 1)
    .option(
      '--ids <n>',
      'number of chunks in each domain; structures have 1 to 10 times as many',
      upTo(IDS_MAX),
      100_000,
    )
    .option('--look-ups <n>', 'number of look-ups of each user', upTo(LOOK_UPS_MAX), 200)
    .option('--service-ms <n>', 'mean service time of a question in ms', upTo(SERVICE_MS_MAX), 1)
    .option('--at-once <n>', 'number of questions that a domain serves at the same time', upTo(AT_ONCE_MAX), 4);
  addResultFileOptions(command)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter load-test', 'the sizes of the published tables'],
          ['ldm filter load-test --at-once 1 --service-ms 5', 'slower domains'],
        ],
        exitCodes: [0, 1, 2, 130],
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, flags: LoadTestFlags) => {
        const [{ runLoadTest }, { reportLoadTest }, { memoryPanels, sizesCsv }, { ResultWriter }] = await Promise.all([
          import('./load-test.ts'),
          import('./report.ts'),
          import('./load-charts.ts'),
          import('../charts/chart-files.ts'),
        ]);
        const writer = await ResultWriter.prepare(flags);
        const options = {
          seed: flags.seed,
          idsPerDomain: flags.ids,
          lookUpsPerUser: flags.lookUps,
          serviceMs: flags.serviceMs,
          servedAtOnce: flags.atOnce,
        };
        const result = await runLoadTest({ ...options, signal: context.signal });
        const written = await writer.write(memoryPanels(result), () => sizesCsv(result));
        reportLoadTest(output, options, result, written);
        return EXIT_SUCCESS;
      }),
    );
}
