import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import {
  EXIT_ABSENT,
  EXIT_FAILURE,
  EXIT_SUCCESS,
  EXIT_USAGE,
  REPOSITORY_EXIT_CODES,
} from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { collect } from '../../console/options/option-values.ts';
import { recoverBytes } from '../../console/input/raw-arguments.ts';
import type { Session } from '../../console/session.ts';
import { bytesOf } from '../../core/util/byte-string.ts';
import type { KeyBatches } from '../make/make.ts';
import type { TestKeysFlags } from './test-keys.ts';

interface TestFlags extends TestKeysFlags {
  readonly file?: readonly string[];
  readonly keys?: boolean;
  readonly explain?: readonly string[];
}

const DETAILS = `
A filter of keys, which \`ldm filter make\` wrote, is asked for KEY..., or for each line of standard input. The keys that may
be in it are printed, and the exit codes are those of grep: 0 if there is one, 1 if there is none, 2 after an error. With
--quiet nothing is printed, and the first such key ends the command. What is not printed is certainly not in the filter.

A file from \`ldm filter export\` (guava, binary-fuse, raw) is asked for chunk ids, 40 hex digits each, and so is another
program's Guava filter, unless --keys is given. "no" is certain. "maybe" is wrong for as many absent ids as the printed
rate; a raw file answers "yes", which is certain. --file needs the repository that was exported: it cuts the file as a
backup would, computes the ids of the chunks with the repository's key, and prints them with the answers.`;

export function defineFilterTest(group: Command, runner: CommandRunner): void {
  const run = runner.inSession(async (session, file: string, texts: string[], flags: TestFlags) => {
    const [{ isExportedFilter, isKeyFilter }, { readFilterBytes }] = await Promise.all([
      import('../keys/key-filter.ts'),
      import('../keys/key-input.ts'),
    ]);
    const bytes = await readFilterBytes(file, session.context.signal!);
    const hasKeys = flags.keys === true || (isKeyFilter(bytes) && !isExportedFilter(bytes));
    if (hasKeys) return await askForKeys(session, { file, bytes }, texts, flags);
    const asker = await idAsker(session, { file, bytes }, texts, flags);
    // From here on, 1 is an error in the documented sense, and 5 the answer.
    runner.failureExitCode = EXIT_FAILURE;
    return await asker();
  });
  group
    .command('test')
    .description('Look up keys, or chunks, in the file of a filter.')
    .argument('<file>', 'a filter from `filter make` or `filter export`, or of Guava; - is standard input')
    .argument('[keys...]', 'keys (default: the lines of standard input), or chunk ids')
    .option('--invert-match', 'print the keys that are certainly not in the filter (-v of grep)')
    .option('-c, --count', 'print only the number of these keys')
    .option('-0, --null', 'a NUL byte ends each key, not a line break')
    .option('--explain <key>', 'show hashes, positions and what is there for this key; may be repeated', collect)
    .option('--keys', "look up keys in another program's Guava filter, or in an exported one")
    .option('--file <path>', "look up the chunks of this file, with the repository's key; may be repeated", collect)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter test words.ldm apple pear', 'the words of these two that may be in it'],
          ['ldm filter test words.ldm --invert-match < text', 'the lines that are certainly new'],
          ['ldm filter test words.ldm --explain apple', 'a picture of its hashes, positions and bits'],
          ['ldm filter test chunks.bloom 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12', 'one chunk'],
          ['ldm filter test chunks.bloom --file photo.jpg', "the chunks of a file, with this repository's key"],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: {
          1: 'no key is in the filter; or, of chunks, an error',
          2: 'wrong usage, or the file cannot be read or is damaged; of keys, any error',
          5: 'a chunk is definitely absent',
        },
      }),
    )
    .action(async (...received: unknown[]) => {
      runner.failureExitCode = EXIT_USAGE;
      await run(...received);
    });
}

interface FilterFile {
  readonly file: string;
  readonly bytes: Uint8Array;
}

async function askForKeys(
  session: Session,
  { file, bytes }: FilterFile,
  texts: readonly string[],
  flags: TestFlags,
): Promise<number> {
  const [{ openKeyFilter }, { KeyInput, fileLabel }, { testKeys }] = await Promise.all([
    import('../keys/open-filter.ts'),
    import('../keys/key-input.ts'),
    import('./test-keys.ts'),
  ]);
  if (flags.file !== undefined) {
    throw new UsageError('--file is about the chunks of an exported repository', { hint: 'Give keys.' });
  }
  if (flags.explain !== undefined) return await explain(session, { file, bytes }, texts, flags);
  if (file === '-' && texts.length === 0) {
    throw new UsageError('standard input cannot be the filter and the keys', { hint: 'Name a file, or give keys.' });
  }
  const filter = openKeyFilter(bytes, fileLabel(file));
  const keys = recoverBytes(texts).map((text) => bytesOf(text));
  const batches = keys.length > 0 ? oneBatch(keys) : new KeyInput(['-'], flags, session.context.signal).batches();
  return await testKeys(session, filter, batches, flags);
}

async function explain(
  { output }: Session,
  { file, bytes }: FilterFile,
  texts: readonly string[],
  flags: TestFlags,
): Promise<number> {
  const [{ openKeyFilter }, { fileLabel }, { explainKeys }] = await Promise.all([
    import('../keys/open-filter.ts'),
    import('../keys/key-input.ts'),
    import('../explain/report.ts'),
  ]);
  if (texts.length > 0 || flags.invertMatch === true || flags.count === true || flags.null === true) {
    throw new UsageError('--explain cannot be combined with other keys, or with options about them');
  }
  const keys = recoverBytes(flags.explain!).map((text) => bytesOf(text));
  return explainKeys(output, openKeyFilter(bytes, fileLabel(file)), keys) > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

async function* oneBatch(keys: readonly Uint8Array[]): KeyBatches {
  yield keys;
}

/** Returns what asks for chunk ids, once everything that can be wrong with the command line and the file is known. */
async function idAsker(
  { context, output }: Session,
  { file, bytes }: FilterFile,
  texts: readonly string[],
  flags: TestFlags,
): Promise<() => Promise<number>> {
  const [{ askFiles, askIds, membershipOf, parseChunkIds }, { createAnswerReport }, { fileLabel }] = await Promise.all([
    import('./ask.ts'),
    import('./report.ts'),
    import('../keys/key-input.ts'),
  ]);
  const membership = membershipOf(bytes, fileLabel(file));
  if (flags.explain !== undefined || flags.invertMatch === true || flags.count === true || flags.null === true) {
    const hint = 'Give --keys to look up keys in a Guava filter.';
    throw new UsageError(`${fileLabel(file)} has chunk ids, and this option is about keys`, { hint });
  }
  if (texts.length === 0 && flags.file === undefined) {
    throw new UsageError('no ids given', { hint: 'Give ids, a file with --file, or --keys to look up keys.' });
  }
  const ids = parseChunkIds(texts);
  const asked = recoverBytes(flags.file ?? []);
  return async () => {
    const report = createAnswerReport(output, membership);
    for (const answer of askIds(membership, ids)) report.visit(answer);
    if (asked.length > 0) await askFiles(context, membership, asked, report.visit);
    report.end();
    return report.absentCount() === 0 ? EXIT_SUCCESS : EXIT_ABSENT;
  };
}
