import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import type { Session } from '../../console/session.ts';

export function defineFilterInspect(group: Command, runner: CommandRunner): void {
  group
    .command('inspect')
    .description(
      'Show the filter of the repository: fill, false positive rate, counters, chains, next growth; or the filter in a file.',
    )
    .argument('[file]', "a filter from `filter make`, or another program's Guava filter; - is standard input")
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter inspect', 'figures and histograms'],
          ['ldm -r /mnt/disk/backup filter inspect --json', 'the same, for a script'],
          ['ldm filter inspect words.ldm', 'kind, size, fill and rate of a filter of keys'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async (session, file: string | undefined) => {
        if (file !== undefined) return await inspectFile(session, file);
        const [{ inspectFilter }, { reportInspection }] = await Promise.all([
          import('./inspect.ts'),
          import('./report.ts'),
        ]);
        reportInspection(session.output, await inspectFilter(session.context));
        return EXIT_SUCCESS;
      }),
    );
}

async function inspectFile({ context, output }: Session, file: string): Promise<number> {
  const [{ openKeyFilter }, { fileLabel, readFilterBytes }, { reportKeyFilter }] = await Promise.all([
    import('../keys/open-filter.ts'),
    import('../keys/key-input.ts'),
    import('./report-keys.ts'),
  ]);
  reportKeyFilter(output, openKeyFilter(await readFilterBytes(file, context.signal!), fileLabel(file)));
  return EXIT_SUCCESS;
}
