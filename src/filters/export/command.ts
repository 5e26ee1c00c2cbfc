import { Option } from 'commander';
import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { ExportFormat } from './export.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { rateValue } from '../../console/options/option-values.ts';
import type { Output } from '../../console/output/output.ts';

interface ExportFlags {
  readonly format: ExportFormat;
  readonly fpr?: number;
  readonly output?: string;
}

const DETAILS = `
guava: a BloomFilter of Google Guava (strategy MURMUR128_MITZ_64) with the 20 bytes of each id. Guava reads it with
       BloomFilter.readFrom(in, Funnels.byteArrayFunnel()); there are ports of it to Go and Python.
raw:   the sorted ids, exact: "LDMIDS1\\n", their number (64 bits, little-endian), 20 bytes each, SHA-256 of all before.

Ids are HMACs with a key of this repository. Other programs cannot compute them from a file, and two repositories have
no ids in common. \`ldm filter test FILE --file PATH\` prints the ids of a file.`;

export function defineFilterExport(group: Command, runner: CommandRunner): void {
  group
    .command('export')
    .description('Export the set of live chunks, for other programs.')
    .addOption(new Option('--format <format>', 'format of the file').choices(['guava', 'raw']).makeOptionMandatory())
    .option('--fpr <rate>', 'the false positive rate of the Guava filter (default: 0.01)', rateValue)
    .option('-o, --output <file>', 'file to write (default: stdout, unless it is a terminal)')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter export --format guava -o chunks.bloom', 'about 10 bits per chunk'],
          ['ldm filter export --format guava --fpr 0.0001 > chunks.bloom', 'about 19 bits per chunk'],
          ['ldm filter export --format raw -o chunks.ids', 'every id, 20 bytes per chunk'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, flags: ExportFlags) => {
        checkFlags(output, flags);
        const [{ exportMembership }, { reportExport }, files] = await Promise.all([
          import('./export.ts'),
          import('./report.ts'),
          import('../../console/output/result-file.ts'),
        ]);
        const path = flags.output === '-' ? undefined : flags.output;
        if (path !== undefined) files.checkResultFile(path);
        const result = await exportMembership(context, { format: flags.format, falsePositiveRate: flags.fpr });
        if (path === undefined) output.bytes(result.bytes);
        else files.writeResultFile(path, result.bytes);
        reportExport(output, result, path);
        return EXIT_SUCCESS;
      }),
    );
}

function checkFlags(output: Output, { format, fpr, output: file }: ExportFlags): void {
  const hint = 'Name a file with -o.';
  if (format === 'raw' && fpr !== undefined) throw new UsageError('--fpr does not apply to raw ids, which are exact');
  if (file !== undefined) return;
  if (output.json) throw new UsageError('with --json, the result cannot go to standard output', { hint });
  if (process.stdout.isTTY) throw new UsageError('the result is binary and cannot go to a terminal', { hint });
}
