import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, UNLOCKED_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

export function defineKeyTest(group: Command, runner: CommandRunner): void {
  group
    .command('test')
    .description('Prove that an exported page opens the repository. Changes nothing, needs no password.')
    .argument('[file]', 'file with the page; - for stdin (default: type the lines on the terminal)')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm key test', 'type the lines from the paper'],
          ['ldm key test page.txt', 'before it is printed'],
        ],
        exitCodes: UNLOCKED_EXIT_CODES,
        meanings: {
          1: 'error, such as the page of another repository',
          2: 'wrong usage, or a typing error in the page',
          12: 'the page does not open the repository',
        },
      }),
    )
    .action(
      runner.inSession(async (session, file: string | undefined) => {
        const [{ testKeyPage }, { reportTestedPage }, { readKeyPage }] = await Promise.all([
          import('./key-pages.ts'),
          import('./export-report.ts'),
          import('../../console/password/key-page-input.ts'),
        ]);
        const page = await readKeyPage(file, session.context.signal);
        reportTestedPage(session.output, await testKeyPage(session.context, { page }));
        return EXIT_SUCCESS;
      }),
    );
}
