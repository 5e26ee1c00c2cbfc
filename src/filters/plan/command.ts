import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import type { Output } from '../../console/output/output.ts';
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
  readonly capacity?: Capacity;
  readonly table?: boolean;
  readonly chunkSize?: number;
  readonly hashes?: number;
  readonly fpr?: number;
}

const DEFAULT_CHUNK_BYTES = 2 ** 20;

export function defineFilterPlan(group: Command, runner: CommandRunner): void {
  group
    .command('plan')
    .description('Choose the size and the number of hash functions of an LDM filter, by the published method.')
    .option(
      '--capacity <n>',
      'capacity of the store: 40GB, or a number of chunks; 1 GB is 1024 MB here',
      withBinaryUnits(capacityValue),
    )
    .option('--chunk-size <size>', 'size of a chunk (default: 1MiB)', withBinaryUnits(sizeValue))
    .option('--hashes <k>', 'number of hash functions; with --fpr, the smallest to try', positiveIntegerValue)
    .option('--fpr <rate>', 'false positive rate to accept (default: 0.01, unless --hashes is given)', rateValue)
    .option('--table', 'print the published table of false positive rates by m/n and k instead')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter plan --capacity 40GB --chunk-size 64MB --hashes 7', 'the published example'],
          ['ldm filter plan --capacity 100GB --chunk-size 64MB --fpr 0.01', 'the smallest number for a rate'],
          ['ldm filter plan --capacity 2000000 --json', 'two million chunks, for a script'],
          ['ldm filter plan --table', 'rates of all Bloom filters with 2 to 32 bits for each element'],
        ],
      }),
    )
    .action(
      runner.inSession(async ({ output }, flags: PlanFlags) => {
        await (flags.table === true ? printTable(output, flags) : printPlan(output, flags));
        return EXIT_SUCCESS;
      }),
    );
}

async function printTable(output: Output, { capacity, chunkSize, hashes, fpr }: PlanFlags): Promise<void> {
  const [other] = Object.entries({
    '--capacity': capacity,
    '--chunk-size': chunkSize,
    '--hashes': hashes,
    '--fpr': fpr,
  })
    .filter(([, value]) => value !== undefined)
    .map(([name]) => name);
  if (other !== undefined) throw new UsageError(`--table cannot be combined with ${other}`);
  const [{ rateTable }, { reportRateTable }] = await Promise.all([import('./rate-table.ts'), import('./report.ts')]);
  reportRateTable(output, rateTable());
}

async function printPlan(output: Output, flags: PlanFlags): Promise<void> {
  const { capacity, chunkSize: chunkBytes = DEFAULT_CHUNK_BYTES, hashes, fpr } = flags;
  if (capacity === undefined) {
    throw new UsageError('--capacity <n> is required', { hint: 'Give it, or --table.' });
  }
  const [{ capacityFor, walkPlan }, { reportPlan }] = await Promise.all([import('./plan.ts'), import('./report.ts')]);
  const chunkCount = 'chunkCount' in capacity ? capacity.chunkCount : capacityFor(capacity.sizeBytes, chunkBytes);
  reportPlan(output, walkPlan({ capacity: chunkCount, hashes, fpr }), {
    chunkBytes,
    storeBytes: 'sizeBytes' in capacity ? capacity.sizeBytes : undefined,
  });
}
