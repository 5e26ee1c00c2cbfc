import type { Command } from 'commander';
import { Option } from 'commander';
import type { ChunkerParameters } from '../../chunking/chunker.ts';
import { UsageError } from '../../errors.ts';
import type { CommandRunner } from '../command-runner.ts';
import { EXIT_SUCCESS } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';
import { omitUndefined } from '../omit-undefined.ts';
import type { Capacity } from '../option-values.ts';
import { capacityValue, integerValue, positiveIntegerValue, rateValue, sizeValue } from '../option-values.ts';

interface InitFlags {
  readonly chunker: 'fastcdc' | 'fixed';
  readonly chunkSize?: number;
  readonly chunkHash: 'sha1' | 'sha256';
  readonly packHash: 'blake3' | 'sha256';
  readonly fpr?: number;
  readonly hashes?: number;
  readonly capacity?: Capacity;
  readonly compressionLevel?: number;
  readonly encryption: boolean;
  readonly appendOnly?: boolean;
}

export function defineInit(program: Command, runner: CommandRunner): void {
  program
    .command('init')
    .description('Create a repository. With -v, print how it stores data and the plan of its LDM filter.')
    .option('--no-encryption', 'do not encrypt: anyone who can read the repository can read its contents')
    .option(
      '--append-only',
      'refuse to delete anything unless overridden; only the storage can enforce this (docs/automation.md)',
    )
    .addOption(
      new Option('--chunker <kind>', 'how files are split into chunks')
        .choices(['fastcdc', 'fixed'])
        .default('fastcdc'),
    )
    .option(
      '--chunk-size <size>',
      'average size (fastcdc, default 1MiB) or exact size (fixed, default 64MiB)',
      sizeValue,
    )
    .addOption(
      new Option('--chunk-hash <name>', 'hash function for chunk ids').choices(['sha1', 'sha256']).default('sha1'),
    )
    .addOption(
      new Option('--pack-hash <name>', 'hash function for pack names').choices(['blake3', 'sha256']).default('blake3'),
    )
    .option('--fpr <rate>', 'highest false positive rate of the filter, such as 0.01', rateValue)
    .option('--hashes <k>', 'number of hash functions', positiveIntegerValue)
    .option('--capacity <n>', 'initial capacity of the filter, in chunks or as a size: 100000 or 40GiB', capacityValue)
    .option('--compression-level <level>', 'zstd level, from -7 to 22 (default: 2)', integerValue)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm init -r /mnt/disk/backup', 'a repository on another disk'],
          [
            'ldm init --chunker fixed --chunk-size 64MiB --capacity 40GiB --hashes 7',
            'files split into chunks of equal size',
          ],
        ],
      }),
    )
    .action(
      runner.inSession(async (session, flags: InitFlags) => {
        const [{ initRepository }, { chunkerOf, capacityOf }, { reportInit }] = await Promise.all([
          import('../../operations/init.ts'),
          import('../chunker-options.ts'),
          import('../reports/init-report.ts'),
        ]);
        if (!flags.encryption && session.context.password?.isForThisRepository === true) {
          throw new UsageError('--no-encryption and a password exclude each other');
        }
        const chunker: ChunkerParameters = chunkerOf(flags.chunker, flags.chunkSize);
        const { chunkHash, packHash, fpr, hashes, compressionLevel, appendOnly } = flags;
        const capacity = flags.capacity === undefined ? undefined : capacityOf(flags.capacity, chunker);
        const encryption = flags.encryption ? ('always' as const) : ('never' as const);
        const given = { chunker, chunkHash, packHash, fpr, hashes, capacity, compressionLevel, encryption, appendOnly };
        const result = await initRepository(session.context, omitUndefined(given));
        reportInit(session, result);
        return EXIT_SUCCESS;
      }),
    );
}
