import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

export function defineStats(program: Command, runner: CommandRunner): void {
  program
    .command('stats')
    .description(
      'Show how much is stored, and how well it deduplicates. Also shows compression and the state of the LDM filter.',
    )
    .option('--by-file', 'also compare with a store that keeps each distinct file once (reads all trees)')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm stats', 'data, space, false positive rate and chain lengths'],
          ['ldm stats -v', 'also the parameters of the filter'],
          ['ldm stats --by-file', 'also deduplication by whole files'],
          ['ldm stats --json', 'everything, for a script'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async (session, { byFile }: { readonly byFile?: boolean }) => {
        const [{ collectStats }, { reportStats }] = await Promise.all([import('./stats.ts'), import('./report.ts')]);
        reportStats(session, await collectStats(session.context, { byFile }));
        return EXIT_SUCCESS;
      }),
    );
}
