import { Option } from 'commander';
import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { ExportFormat } from './export.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { rateValue } from '../../console/options/option-values.ts';
import type { Session } from '../../console/session.ts';

interface ExportFlags {
  readonly format: ExportFormat | 'parquet';
  readonly fpr?: number;
  readonly output?: string;
}

const DETAILS = `
guava: a BloomFilter of Google Guava (strategy MURMUR128_MITZ_64) with the 20 bytes of each id. Guava reads it with
       BloomFilter.readFrom(in, Funnels.byteArrayFunnel()); there are ports of it to Go and Python.
binary-fuse: about 9 bits per chunk at a rate of 0.4 % or more, else 18 bits, down to 0.0016 %; docs/filters.md has the
       format.
raw:   the sorted ids, exact: "LDMIDS1\\n", their number (64 bits, little-endian), 20 bytes each, SHA-256 of all before.

Ids are HMACs with a key of this repository. Other programs cannot compute them from a file, and two repositories have
no ids in common. \`ldm filter test FILE --file PATH\` prints the ids of a file.

A filter of keys, FILE, can be exported as guava if its kind is bloom, which changes no bit, or hash-set; and likewise as
parquet if its kind is split-block-bloom or hash-set: header and blocks of a Bloom filter of a Parquet file, for a column
of the type BYTE_ARRAY with the keys as values.`;

export function defineFilterExport(group: Command, runner: CommandRunner): void {
  group
    .command('export')
    .description('Export the set of live chunks, or a filter of keys, for other programs.')
    .argument('[file]', 'a filter from `filter make` (default: the chunks of the repository); - is standard input')
    .addOption(
      new Option('--format <format>', 'format of the file')
        .choices(['guava', 'binary-fuse', 'raw', 'parquet'])
        .makeOptionMandatory(),
    )
    .option('--fpr <rate>', 'the highest false positive rate (default: 0.01)', rateValue)
    .option('-o, --output <file>', 'file to write (default: stdout, unless it is a terminal)')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter export --format guava -o chunks.bloom', 'about 10 bits per chunk'],
          ['ldm filter export --format guava --fpr 0.0001 > chunks.bloom', 'about 19 bits per chunk'],
          ['ldm filter export --format binary-fuse -o chunks.fuse', 'about 9 bits per chunk, with a lower rate'],
          ['ldm filter export --format raw -o chunks.ids', 'every id, 20 bytes per chunk'],
          ['ldm filter export words.ldm --format guava -o words.bloom', 'a filter of keys'],
          ['ldm filter export blocks.ldm --format parquet -o blocks.bin', 'one of the kind split-block-bloom'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async (session, file: string | undefined, flags: ExportFlags) => {
        checkFlags(flags);
        if (file !== undefined) return await exportFile(session, file, flags);
        const format = formatOfChunks(flags);
        const { context, output } = session;
        const [{ exportMembership }, { reportExport }, files] = await Promise.all([
          import('./export.ts'),
          import('./report.ts'),
          import('../../console/output/result-file.ts'),
        ]);
        files.checkBinaryOutput(flags.output, output.json);
        const path = flags.output === '-' ? undefined : flags.output;
        if (path !== undefined) files.checkResultFile(path);
        const result = await exportMembership(context, { format, falsePositiveRate: flags.fpr });
        if (path === undefined) output.bytes(result.bytes);
        else files.writeResultFile(path, result.bytes);
        reportExport(output, result, path);
        return EXIT_SUCCESS;
      }),
    );
}

function checkFlags({ format, fpr }: ExportFlags): void {
  if (format === 'raw' && fpr !== undefined) throw new UsageError('--fpr does not apply to raw ids, which are exact');
}

function formatOfChunks({ format }: ExportFlags): ExportFormat {
  if (format !== 'parquet') return format;
  throw new UsageError('--format parquet is for a filter of keys', { hint: 'Name the file of one.' });
}

async function exportFile({ context, output }: Session, file: string, flags: ExportFlags): Promise<number> {
  const [{ CONVERSIONS }, { reportConverted }, { openKeyFilter }, { fileLabel, readFilterBytes }, files] =
    await Promise.all([
      import('./export-keys.ts'),
      import('./report.ts'),
      import('../keys/open-filter.ts'),
      import('../keys/key-input.ts'),
      import('../../console/output/result-file.ts'),
    ]);
  const { format } = flags;
  if (format !== 'guava' && format !== 'parquet') {
    throw new UsageError(`--format ${format} is for the chunks of a repository`, {
      hint: 'Export a filter of keys with --format guava or parquet.',
    });
  }
  files.checkBinaryOutput(flags.output, output.json);
  const path = flags.output === '-' ? undefined : flags.output;
  if (path !== undefined) files.checkResultFile(path);
  const filter = openKeyFilter(await readFilterBytes(file, context.signal!), fileLabel(file));
  const { bytes, falsePositiveRate } = CONVERSIONS[format](filter, flags.fpr);
  if (path === undefined) output.bytes(bytes);
  else files.writeResultFile(path, bytes);
  reportConverted(output, { format, kind: filter.kind, bytes: bytes.length, rate: falsePositiveRate }, path);
  return EXIT_SUCCESS;
}
