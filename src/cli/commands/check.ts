import type { Command } from 'commander';
import type { CommandRunner } from '../command-runner.ts';
import { REPOSITORY_EXIT_CODES, exitCodeOfCheck } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';
import { omitUndefined } from '../omit-undefined.ts';
import { partValue } from '../option-values.ts';

interface CheckFlags {
  readonly readData?: true | { readonly part: number; readonly of: number };
  /** False with --no-key. */
  readonly key: boolean;
}

export function defineCheck(program: Command, runner: CommandRunner): void {
  program
    .command('check')
    .description('Verify the repository. Changes nothing; `ldm repair` does.')
    .option('--read-data [n/m]', 'also read and verify all data, or the n-th of m parts', partValue)
    .option('--no-key', 'need no password: only compare every stored file with the digest in its name')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm check', 'structure and reference counts'],
          ['ldm check --read-data', 'all data'],
          ['ldm check --read-data=1/7', 'a seventh of it, for every day of the week'],
          ['ldm check --no-key', 'on the machine that stores the repository: finds damaged files, not missing ones'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: { 4: 'damage was found' },
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, { readData, key }: CheckFlags) => {
        if (!key) {
          const [{ checkStorage }, { reportStorageCheck }] = await Promise.all([
            import('../../operations/check-storage.ts'),
            import('../reports/check-report.ts'),
          ]);
          const found = await checkStorage(context, omitUndefined({ readData }));
          reportStorageCheck(output, found);
          return exitCodeOfCheck(found);
        }
        const [{ check }, { reportCheck }] = await Promise.all([
          import('../../operations/check.ts'),
          import('../reports/check-report.ts'),
        ]);
        const result = await check(context, omitUndefined({ readData }));
        reportCheck(output, result);
        return exitCodeOfCheck(result);
      }),
    );
}
