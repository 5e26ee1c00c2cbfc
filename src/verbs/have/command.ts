import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { pathInputs } from '../../console/input/raw-arguments.ts';

interface HaveFlags {
  readonly present?: boolean;
  readonly null?: boolean;
}

export function defineHave(program: Command, runner: CommandRunner): void {
  program
    .command('have')
    .description(
      'Say whether the content of files is in the repository. Their names do not matter. Lists the files whose content is not there. The command reads the files, and lists what is stored, but does not read it: `ldm check --read-data` verifies that.',
    )
    .argument('<paths...>', 'files, and directories with everything in them')
    .option('--present', 'list the files whose content is in the repository instead')
    .option('-0, --null', 'end each path with a NUL byte instead of a line feed, and print nothing else')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm have /mnt/card/DCIM', 'which pictures on a card are not in any snapshot?'],
          ['ldm have -q movie.mkv && rm movie.mkv', 'remove a file only if its content is in the repository'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: {
          0: 'success: the content of all files is in snapshots',
          3: 'the same, except for files that could not be read',
          5: 'the content of a file is not in any snapshot',
        },
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, paths: string[], flags: HaveFlags) => {
        const [{ findContent }, { HaveReport, exitCodeOfHave }] = await Promise.all([
          import('./have.ts'),
          import('./report.ts'),
        ]);
        const options = { present: flags.present === true, separatesByNul: flags.null === true };
        const report = new HaveReport(output, options);
        const result = await findContent(context, { paths: pathInputs(paths) }, report.visit);
        report.finish(result);
        return exitCodeOfHave(result);
      }),
    );
}
