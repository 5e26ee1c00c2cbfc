import { Option } from 'commander';
import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { keyCountValue, rateValue } from '../../console/options/option-values.ts';
import { KINDS } from '../keys/kinds.ts';
import type { KeyInputFlags } from '../keys/key-input.ts';

interface MakeFlags extends KeyInputFlags {
  readonly expected?: number;
  readonly fpr: number;
  readonly kind: string;
  readonly output?: string;
  readonly force?: boolean;
}

const DETAILS = `
Each line of FILE is a key, of any bytes; with --null, a NUL byte ends each one. - is standard input. The last key need
not be ended, and an empty line is an empty key. \`ldm filter test\` asks the filter, like grep.

Without --expected, the keys are counted first: files are read twice, and what comes through a pipe is kept in memory, up
to 64 MiB. Copies of a key count, so \`sort -u\` makes the filter smaller. The same keys in the same order make the same
file.

The kinds binary-fuse-8 and binary-fuse-16 are built when all keys have been read. Until then, 8 bytes for each key are in
memory, and 55 while they are built; they have at most 134 million keys.`;

export function defineFilterMake(group: Command, runner: CommandRunner): void {
  group
    .command('make')
    .description('Make a filter of the keys in files or standard input.')
    .argument('<file...>', 'files of keys, one a line; - is standard input')
    .option('--expected <n>', 'number of distinct keys: 10000, 1e6 (default: as many as there are)', keyCountValue)
    .option('--fpr <rate>', 'the false positive rate for that number of keys', rateValue, 0.01)
    .addOption(
      new Option('--kind <kind>', 'structure of the filter family')
        .choices(KINDS.map(({ name }) => name))
        .default('bloom'),
    )
    .option('-0, --null', 'a NUL byte ends each key, not a line break')
    .option('-o, --output <file>', 'file to write (default: stdout, unless it is a terminal)')
    .option('--force', 'replace an existing file')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter make words.txt -o words.ldm', 'a Bloom filter of the lines of a file'],
          ['find . -print0 | ldm filter make -0 - -o names.ldm --fpr 0.0001', 'file names, with few false positives'],
          ['zcat log.gz | ldm filter make - --expected 1e7 --kind cuckoo > log.ldm', 'a stream of any length'],
        ],
        exitCodes: [0, 1, 2, 130],
      }),
    )
    .action(
      runner.inSession(async (session, names: string[], flags: MakeFlags) => {
        const { context, output } = session;
        const path = flags.output === '-' ? undefined : flags.output;
        const [{ makeKeyFilter }, { reportMade }, { KeyInput }, files] = await Promise.all([
          import('./make.ts'),
          import('./report.ts'),
          import('../keys/key-input.ts'),
          import('../../console/output/result-file.ts'),
        ]);
        files.checkBinaryOutput(flags.output, output.json);
        if (path === undefined) session.keepStdoutForData();
        else files.checkNewFile(path, flags.force === true);
        const input = new KeyInput(names, flags, context.signal);
        const isSized = KINDS.find(({ name }) => name === flags.kind)!.isSized;
        const expected = flags.expected ?? (isSized ? Math.max(1, await input.count()) : undefined);
        const { fpr: falsePositiveRate, kind } = flags;
        const result = await makeKeyFilter(context, { kind, expected, falsePositiveRate, keys: input.batches() });
        if (path === undefined) output.bytes(result.bytes);
        else files.writeResultFile(path, result.bytes);
        reportMade(output, result, path);
        return EXIT_SUCCESS;
      }),
    );
}
