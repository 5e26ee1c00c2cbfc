import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_ABSENT, EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { collect } from '../../console/options/option-values.ts';
import { recoverBytes } from '../../console/input/raw-arguments.ts';

interface TestFlags {
  readonly file?: readonly string[];
}

const DETAILS = `
FILE was written by \`ldm filter export\`, or is another program's Guava filter; its first bytes show which. "no" is
certain. "maybe" is wrong for as many absent ids as the printed rate; a raw file answers "yes", which is certain.

--file needs the repository that was exported: it cuts the file as a backup would, computes the ids of the chunks with
the repository's key, and prints them with the answers.`;

export function defineFilterTest(group: Command, runner: CommandRunner): void {
  group
    .command('test')
    .description('Look up chunks in an exported file.')
    .argument('<file>', 'exported file: a Guava filter or raw ids')
    .argument('[ids...]', 'chunk ids, 40 hex digits each')
    .option('--file <path>', "look up the chunks of this file, with the repository's key; may be repeated", collect)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter test chunks.bloom 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12', 'one id'],
          ['ldm filter test chunks.bloom --file photo.jpg', "the chunks of a file, with this repository's key"],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: { 5: 'an id is definitely absent' },
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, file: string, idTexts: string[], flags: TestFlags) => {
        const [{ askFiles, askIds, openMembership, parseChunkIds }, { createAnswerReport }] = await Promise.all([
          import('./ask.ts'),
          import('./report.ts'),
        ]);
        if (idTexts.length === 0 && flags.file === undefined) {
          throw new UsageError('no ids given', { hint: 'Give ids, or a file with --file.' });
        }
        const ids = parseChunkIds(idTexts);
        const [path] = recoverBytes([file]);
        const asked = recoverBytes(flags.file ?? []);
        const membership = openMembership(path!);
        const report = createAnswerReport(output, membership);
        for (const answer of askIds(membership, ids)) report.visit(answer);
        if (asked.length > 0) await askFiles(context, membership, asked, report.visit);
        report.end();
        return report.absentCount() === 0 ? EXIT_SUCCESS : EXIT_ABSENT;
      }),
    );
}
