import type { Command } from 'commander';
import { UsageError } from '../../errors.ts';
import type { CommandRunner } from '../command-runner.ts';
import { EXIT_ABSENT, EXIT_SUCCESS } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';
import { collect } from '../option-values.ts';

interface TestFlags {
  readonly file?: readonly string[];
}

const DETAILS = `
FILE is what \`ldm filter export\` wrote, or another program's Guava filter; its bytes say which. A "no" is certain. A
"maybe" is wrong for as many absent ids as its rate says; a raw file answers with a certain "yes".

--file needs the repository whose ids they are: it cuts the file as a backup to it would, computes the ids of the
chunks with its key, and prints them with their answers.`;

export function defineFilterTest(group: Command, runner: CommandRunner): void {
  group
    .command('test')
    .description('Ask an exported file whether chunks are there.')
    .argument('<file>', 'a Guava filter or raw ids')
    .argument('[ids...]', 'chunk ids, 40 hex digits each')
    .option('--file <path>', "ask for the chunks of this file, by the repository's key; may be repeated", collect)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter test chunks.bloom 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12', 'one id'],
          ['ldm filter test chunks.bloom --file photo.jpg', "the chunks of a file, with this repository's key"],
        ],
        exitCodes: [5, 10, 11],
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, file: string, idTexts: string[], flags: TestFlags) => {
        const [{ askFiles, askIds, openMembership, parseChunkIds }, { createAnswerReport }, { recoverBytes }] =
          await Promise.all([
            import('../../operations/filter/ask.ts'),
            import('../reports/filter-test-report.ts'),
            import('../../files/raw-arguments.ts'),
          ]);
        if (idTexts.length === 0 && flags.file === undefined) {
          throw new UsageError('no id was given', { hint: 'Give ids, or --file with a path.' });
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
