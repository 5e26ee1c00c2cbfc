import { Option } from 'commander';
import type { Command } from 'commander';
import { UsageError } from '../../../core/errors.ts';
import type { CommandRunner } from '../../../console/command-runner.ts';
import { REPOSITORY_EXIT_CODES } from '../../../console/exit-codes.ts';
import { formatHelpFooter } from '../../../console/options/help-footer.ts';
import { rangeValue } from './range-option.ts';
import { pathInputs } from '../../../console/input/raw-arguments.ts';

interface LocateFlags {
  readonly ask: 'maybe' | 'all';
  readonly explain?: boolean;
  readonly range?: ReturnType<typeof rangeValue>;
}

const DETAILS = `
A chunk is sought in the filter of this repository first, and then in what the other members of its realm have published
(see \`ldm realm join\`). Domains that may have it are asked, all at the same time, and their answers are exact. What a
domain has published says no only if it is up to date: otherwise the domain is asked. Of a directory, each file is one line
with the number of its chunks in each domain.

With --range, domains that have published that none of their files in these ranges has a chunk (\`ldm realm publish --ranges\`)
are asked only if no other domain has it. Without a target, it says which domains may have such files, and what is around them.`;

export function defineLocate(program: Command, runner: CommandRunner): void {
  program
    .command('locate')
    .description('Show where chunks are, in all repositories of the realm. Also shows which snapshots need them.')
    .argument(
      '[target]',
      'a chunk id, SNAPSHOT:path of a file or directory in a snapshot, or a file or directory, whose files are cut as by a backup',
    )
    .addOption(
      new Option(
        '--ask <whom>',
        'maybe: the domains that may have a chunk; all: every domain about every chunk; with --range, those in the range',
      )
        .choices(['maybe', 'all'])
        .default('maybe'),
    )
    .option(
      '--explain',
      'show how each chunk is found: positions, counters, link position and compared chunks in the filter, and which planes say maybe',
    )
    .option(
      '--range <ranges>',
      'ask domains with files of these times, paths and sizes first: time=FROM..TO,path=BEGINNING,size=FROM..TO',
      rangeValue,
    )
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm locate photo.jpg', 'where are the chunks of this file?'],
          ['ldm locate latest:home/me/photo.jpg', 'the same for a file in a snapshot'],
          ['ldm locate ~/photos', 'which domains have the files of this directory?'],
          ['ldm locate --range time=2026-01-01..2026-02-01,size=1GiB..', 'which domains may have such files?'],
          ['ldm locate --explain 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12', 'one chunk, step by step'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: {
          0: 'success: every chunk was found',
          1: 'error, or a chunk was not found and a domain that may have it did not answer',
          3: 'every chunk was found, but files of a directory could not be read',
          5: 'a chunk is definitely absent from the realm',
        },
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, target: string | undefined, flags: LocateFlags) => {
        if (target === undefined && flags.range === undefined) throw new UsageError('give a target, or --range');
        const [{ locate }, { LocateReport, exitCodeOfLocate }] = await Promise.all([
          import('./locate.ts'),
          import('./report.ts'),
        ]);
        const report = new LocateReport(output);
        const given = target === undefined ? undefined : pathInputs([target])[0]!;
        const options = { target: given, ask: flags.ask, explains: flags.explain === true, range: flags.range };
        const result = await locate(context, options, report.visit, report.visitFile);
        report.finish(result, target !== undefined);
        return exitCodeOfLocate(result);
      }),
    );
}
