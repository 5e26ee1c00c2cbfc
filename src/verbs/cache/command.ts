import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

const DETAILS = `
What every command needs of a repository on another machine is kept in $XDG_CACHE_HOME/ldm, default ~/.cache/ldm, up to
2 GiB for each repository: encrypted if the repository is, and read only if it is unchanged. Without it, commands are
only slower. check and repair do not use it; --no-cache keeps other commands from it.`;

export function defineCache(program: Command, runner: CommandRunner): void {
  program
    .command('cache')
    .description('Show or remove what this machine keeps of remote repositories.')
    .option('--clean', 'remove it')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm cache', 'how much is kept of which repository'],
          ['ldm cache --clean', 'free the space'],
        ],
      }),
    )
    .action(
      runner.inSession(async ({ output }, flags: { readonly clean?: boolean }) => {
        const [{ cleanCaches, listCaches }, { reportCaches }, { cacheDirectory }] = await Promise.all([
          import('./cache.ts'),
          import('./report.ts'),
          import('../../console/settings/directories.ts'),
        ]);
        const directory = cacheDirectory(process.env);
        const isCleaned = flags.clean === true;
        const use = isCleaned ? cleanCaches : listCaches;
        reportCaches(output, directory === undefined ? [] : use(directory), isCleaned);
        return EXIT_SUCCESS;
      }),
    );
}
