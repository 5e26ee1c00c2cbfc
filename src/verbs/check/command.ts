import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { CheckResult, ReadData } from './check.ts';
import type { LastCheck } from '../../console/check-memory.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { durationValue, partValue, subsetValue } from '../../console/options/option-values.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

interface CheckFlags extends SnapshotFilterFlags {
  readonly readData?: ReadData;
  readonly readDataSubset?: ReadData;
  readonly new?: boolean;
  readonly maxAge?: number;
  /** False with --no-key. */
  readonly key: boolean;
}

const FOOTER = {
  examples: [
    ['ldm check', 'structure and reference counts'],
    ['ldm check --read-data', 'all data'],
    ['ldm check --read-data=1/7', 'a seventh of it, for every day of the week'],
    ['ldm check --read-data-subset 5%', 'other data each time, for every night'],
    ['ldm check --read-data --new', 'what was added since, for every night: finds chunks that a client has forged'],
    ['ldm check --max-age 30d', 'data that no machine has verified for 30 days, for every night'],
    ['ldm check latest --read-data', 'can the newest snapshot be restored?'],
    ['ldm check --no-key', 'on the machine that stores the repository: finds damaged files, not missing ones'],
  ],
  exitCodes: REPOSITORY_EXIT_CODES,
  meanings: { 4: 'damage was found' },
} as const;

export function defineCheck(program: Command, runner: CommandRunner): void {
  const command = program
    .command('check')
    .description('Verify the repository, or what some snapshots need. Repairs nothing; `ldm repair` does.')
    .argument('[snapshots...]', 'ids (4 or more digits), latest or latest~N (default: everything)')
    .option('--read-data [n/m]', 'also read and verify all data, or the n-th of m parts', partValue)
    .option(
      '--read-data-subset <part>',
      'read a part of the data: n/m, or packs chosen at random: 5%, 2GiB',
      subsetValue,
    )
    .option('--new', 'with --read-data: only the packs that this machine has not read and found sound before')
    .option(
      '--max-age <span>',
      'read the data that was not verified within this time, such as 30d, and record in the repository what was verified',
      durationValue,
    )
    .option('--no-key', 'need no password: only compare every stored file with the digest in its name');
  addSnapshotFilters(command)
    .addHelpText('after', formatHelpFooter(FOOTER))
    .action(
      runner.inSession(async ({ context, output, checksDirectory }, selectors: string[], flags: CheckFlags) => {
        if (flags.readData !== undefined && flags.readDataSubset !== undefined) {
          throw new UsageError('--read-data and --read-data-subset cannot be combined');
        }
        const readData = flags.readData ?? flags.readDataSubset;
        const filter = snapshotFilterOf(flags);
        const isSelection = selectors.length > 0 || Object.keys(filter).length > 0;
        assertNewFits(flags, isSelection);
        assertAgeFits(flags, isSelection);
        const where = { isRemote: context.backend.localDirectory === undefined };
        if (!flags.key) {
          if (isSelection) {
            throw new UsageError('--no-key cannot be restricted to snapshots: which files they need is encrypted');
          }
          const [{ checkStorage }, { exitCodeOfCheck, reportStorageCheck }] = await Promise.all([
            import('./check-storage.ts'),
            import('./report.ts'),
          ]);
          const found = await checkStorage(context, omitUndefined({ readData }));
          reportStorageCheck(output, found, where);
          return exitCodeOfCheck(found);
        }
        const [{ check }, { exitCodeOfCheck, reportCheck }, { rememberCheck }, { recallReadPacks, rememberReadPacks }] =
          await Promise.all([
            import('./check.ts'),
            import('./report.ts'),
            import('../../console/check-memory.ts'),
            import('./read-packs.ts'),
          ]);
        const place = { directory: checksDirectory, location: context.backend.location };
        const isKnown = (repositoryId: string): ((id: string) => boolean) =>
          recallReadPacks({ ...place, repositoryId });
        const onlyNew = flags.new === true ? { isKnown } : {};
        const options = { selectors, filter, ...omitUndefined({ readData, maxAgeMs: flags.maxAge }), ...onlyNew };
        const result = await check(context, options);
        if (flags.new === true) rememberReadPacks({ ...place, ...result }, result.packIds, result.soundIds);
        if (!result.isSelection) rememberCheck(checksDirectory, result.repositoryId, lastCheckOf(result));
        reportCheck(output, result, where);
        return exitCodeOfCheck(result);
      }),
    );
}

/** @throws UsageError */
function assertNewFits({ new: isNew, readData, key }: CheckFlags, isSelection: boolean): void {
  if (isNew !== true) return;
  if (readData === undefined) throw new UsageError('--new needs --read-data');
  if (isSelection) throw new UsageError('--new cannot be restricted to snapshots');
  if (!key) throw new UsageError('--new needs the key: without it, nobody can tell whether a chunk has the right id');
}

/** @throws UsageError */
function assertAgeFits(flags: CheckFlags, isSelection: boolean): void {
  if (flags.maxAge === undefined) return;
  if (flags.readData !== undefined) {
    throw new UsageError('--max-age and --read-data cannot be combined: the age decides which data is read', {
      hint: '--read-data-subset with a share or a size, such as 5% or 2GiB, limits how much of it.',
    });
  }
  const { readDataSubset } = flags;
  if (readDataSubset !== undefined && readDataSubset !== true && 'part' in readDataSubset) {
    throw new UsageError('with --max-age, --read-data-subset needs a share or a size, such as 5% or 2GiB');
  }
  if (isSelection) throw new UsageError('--max-age cannot be restricted to snapshots');
  if (!flags.key) throw new UsageError('--max-age needs the key: the record of what was verified is encrypted');
}

function lastCheckOf({ findings, bytesRead, packBytes }: CheckResult): LastCheck {
  return {
    time: new Date().toISOString(),
    readShare: packBytes === 0 ? 1 : bytesRead / packBytes,
    errorCount: findings.filter(({ severity }) => severity === 'error').length,
  };
}
