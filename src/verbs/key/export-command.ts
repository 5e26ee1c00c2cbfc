import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, UNLOCKED_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

interface ExportFlags {
  readonly output?: string;
}

const DETAILS = `
The page has the master key as text with a checksum in each line. Anyone who has it can read the whole repository without
a password, and no change of passwords helps against that. Print it, delete the file, keep the paper elsewhere, and
verify what you keep with \`ldm key test\`.`;

export function defineKeyExport(group: Command, runner: CommandRunner): void {
  group
    .command('export')
    .description('Write the master key as a page to be printed: the way out if all keys or passwords are lost.')
    .option('-o, --output <file>', 'file to write, readable for its owner only (default: stdout)')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm key export -o page.txt', 'write the page to a file'],
          ['ldm key export | lp', 'print it'],
        ],
        exitCodes: UNLOCKED_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, flags: ExportFlags) => {
        const file = flags.output === '-' ? undefined : flags.output;
        if (output.json && file === undefined) {
          const hint = 'Name a file with -o.';
          throw new UsageError('with --json, the page cannot go to standard output', { hint });
        }
        const [{ exportKeys }, { reportExportedKeys }, files] = await Promise.all([
          import('./key-pages.ts'),
          import('./export-report.ts'),
          import('../../console/output/result-file.ts'),
        ]);
        if (file !== undefined) files.checkSecretFile(file, context.backend.localDirectory);
        reportExportedKeys(output, await exportKeys(context), file);
        return EXIT_SUCCESS;
      }),
    );
}
