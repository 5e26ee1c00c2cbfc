import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import type { Capacity } from '../../console/options/option-values.ts';
import {
  capacityValue,
  positiveIntegerValue,
  rateValue,
  sizeValue,
  withBinaryUnits,
} from '../../console/options/option-values.ts';

interface PlanFlags {
  readonly capacity: Capacity;
  readonly chunkSize?: number;
  readonly hashes?: number;
  readonly fpr?: number;
}

const DEFAULT_CHUNK_BYTES = 2 ** 20;

export function defineFilterPlan(group: Command, runner: CommandRunner): void {
  group
    .command('plan')
    .description('Choose the size and the number of hash functions of an LDM filter, by the published method.')
    .requiredOption(
      '--capacity <n>',
      'capacity of the store: 40GB, or a number of chunks; 1 GB is 1024 MB here',
      withBinaryUnits(capacityValue),
    )
    .option('--chunk-size <size>', 'size of a chunk (default: 1MiB)', withBinaryUnits(sizeValue))
    .option('--hashes <k>', 'number of hash functions; with --fpr, the smallest to try', positiveIntegerValue)
    .option('--fpr <rate>', 'false positive rate to accept (default: 0.01, unless --hashes is given)', rateValue)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter plan --capacity 40GB --chunk-size 64MB --hashes 7', 'the published example'],
          ['ldm filter plan --capacity 100GB --chunk-size 64MB --fpr 0.01', 'the smallest number for a rate'],
          ['ldm filter plan --capacity 2000000 --json', 'two million chunks, for a script'],
        ],
      }),
    )
    .action(
      runner.inSession(async ({ output }, { capacity, chunkSize = DEFAULT_CHUNK_BYTES, hashes, fpr }: PlanFlags) => {
        const [{ capacityFor, walkPlan }, { reportPlan }] = await Promise.all([
          import('./plan.ts'),
          import('./report.ts'),
        ]);
        const chunkCount = 'chunkCount' in capacity ? capacity.chunkCount : capacityFor(capacity.sizeBytes, chunkSize);
        reportPlan(output, walkPlan({ capacity: chunkCount, hashes, fpr }), {
          chunkBytes: chunkSize,
          storeBytes: 'sizeBytes' in capacity ? capacity.sizeBytes : undefined,
        });
        return EXIT_SUCCESS;
      }),
    );
}
