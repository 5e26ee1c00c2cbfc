import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { REPOSITORY_EXIT_CODES, EXIT_FAILURE, EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { textValue } from '../../console/options/option-values.ts';

interface DoctorFlags {
  readonly host?: string;
}

export function defineDoctor(program: Command, runner: CommandRunner): void {
  program
    .command('doctor')
    .description('Examine the installation, the repository and its surroundings. Changes nothing.')
    .option('-H, --host <name>', 'expect backups of this host (default: of any)', textValue)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [['ldm doctor', 'one line about each subject']],
        exitCodes: REPOSITORY_EXIT_CODES.filter((code) => code < 10 || code > 12),
        meanings: {
          0: 'success: no errors; there may be warnings',
          1: 'something prevents backups, or data is damaged',
        },
      }),
    )
    .action(
      runner.inSession(async ({ context, output, checksDirectory }, { host }: DoctorFlags) => {
        const [{ diagnose }, { reportDoctor }, { recallCheck }] = await Promise.all([
          import('./doctor.ts'),
          import('./report.ts'),
          import('../../console/check-memory.ts'),
        ]);
        const diagnoses = await diagnose(context, omitUndefined({ hostname: host }));
        const errorCount = reportDoctor(output, diagnoses, (repositoryId) =>
          recallCheck(checksDirectory, repositoryId),
        );
        return errorCount > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
      }),
    );
}
