import type { Command } from 'commander';
import { Option } from 'commander';
import type { ArchiveFormat } from './dump.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { textValue } from '../../console/options/option-values.ts';
import { expandHome } from '../../console/input/paths.ts';
import { pathInput } from '../../console/input/raw-arguments.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

interface DumpFlags extends SnapshotFilterFlags {
  readonly archive?: ArchiveFormat;
  readonly output?: string;
}

const DETAILS = `
A tar archive has owners, times to the nanosecond, hard links, holes, extended attributes and ACLs; extract it with
\`tar --xattrs --xattrs-include='*' --acls -xp\` or \`bsdtar -xp\`. A zip archive has owners as numbers, times to the
second, symlinks, and hard links as copies. Names in an archive are relative to the selected directory. Sockets are left out.
Every byte is verified before it is written. If data is damaged, the command fails and the archive is incomplete.`;

export function defineDump(program: Command, runner: CommandRunner): void {
  const command = program
    .command('dump')
    .description('Write a file, or a directory as an archive, to standard output.')
    .argument('<snapshot[:path]>', 'id (4 or more digits), latest or latest~N, optionally with a path in it')
    .addOption(
      new Option('-a, --archive <format>', 'write an archive (default: tar for a directory)').choices(['tar', 'zip']),
    )
    .option(
      '-o, --output <file>',
      'write to this new file, which appears when it is complete; - for standard output, even if that is a terminal',
      textValue,
    );
  addSnapshotFilters(command)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm dump latest:data/db.sql | psql', 'pass a file to another program'],
          ['ldm dump latest:data -o data.tar', 'an archive of a directory'],
          ['ldm dump latest | zstd > all.tar.zst', 'compress the archive of a snapshot'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async (session, selector: string, flags: DumpFlags) => {
        const file = flags.output === undefined || flags.output === '-' ? undefined : expandHome(flags.output);
        if (file === undefined) session.keepStdoutForData();
        const [{ dump }, { dumpTo }, { reportLeftOut }] = await Promise.all([
          import('./dump.ts'),
          import('./dump-target.ts'),
          import('./report.ts'),
        ]);
        const result = await dumpTo(
          session,
          file,
          async (target) =>
            dump(session.context, {
              selector: pathInput(selector),
              filter: snapshotFilterOf(flags),
              ...omitUndefined({ format: flags.archive }),
              ...target,
            }),
          flags.output === '-',
        );
        reportLeftOut(session.output, result);
        return EXIT_SUCCESS;
      }),
    );
}
