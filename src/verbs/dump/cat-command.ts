import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { pathInput } from '../../console/input/raw-arguments.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

export function defineCat(program: Command, runner: CommandRunner): void {
  const command = program
    .command('cat')
    .description('Write a file of a snapshot to standard output.')
    .argument('<snapshot:path>', 'id (4 or more digits), latest or latest~N, with the path of a file in it');
  addSnapshotFilters(command)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm cat latest:data/notes.txt', 'print a file'],
          ['ldm cat latest~1:data/notes.txt > notes.txt', 'write an older version of it to a file'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async (session, selector: string, flags: SnapshotFilterFlags) => {
        session.keepStdoutForData();
        const [{ dump }, { dumpTo }] = await Promise.all([import('./dump.ts'), import('./dump-target.ts')]);
        const run = async (target: Parameters<Parameters<typeof dumpTo>[2]>[0]): Promise<unknown> =>
          dump(session.context, {
            selector: pathInput(selector),
            filter: snapshotFilterOf(flags),
            onlyFile: true,
            ...target,
          });
        // As cat itself, it prints what is asked for.
        await dumpTo(session, undefined, run, true);
        return EXIT_SUCCESS;
      }),
    );
}
