import type { Command } from 'commander';
import { addRemovalOptions, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { textValue, timeValue } from '../../console/options/option-values.ts';
import { PATTERN_FILES_HELP, addPatternOptions, readPatterns } from '../../console/options/pattern-options.ts';
import type { PatternFlags } from '../../console/options/pattern-options.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

interface RewriteFlags extends SnapshotFilterFlags, PatternFlags, RemovalFlags {
  readonly newHost?: string;
  readonly newTime?: string;
  readonly forget?: boolean;
  readonly dryRun?: boolean;
}

const DETAILS = `
Patterns work as in \`ldm backup\`, and match the absolute paths at the time of the backup. --include keeps what matches,
with all that is below it; a snapshot in which nothing matches stays as it is. Without --forget, the old
snapshot is kept, and the new one gets the tag rewrite. After --forget, \`ldm compact\` frees the space that only the old
snapshots needed.`;

export function defineRewrite(program: Command, runner: CommandRunner): void {
  const command = program
    .command('rewrite')
    .description('Make new snapshots of old ones, without some of their files. Or with another host or time.')
    .argument('[snapshots...]', 'ids (4 or more digits), latest or latest~N; default: all that the options select');
  addPatternOptions(command, 'exclude', 'leave out what matches');
  addPatternOptions(command, 'include', 'leave out everything but what matches')
    .option('--new-host <name>', 'record this host name', textValue)
    .option('--new-time <time>', 'record this time, such as "2026-01-31 18:00"', timeValue)
    .option('--forget', 'delete the old snapshots')
    .option('-n, --dry-run', 'change nothing; print what would be left out and freed');
  addRemovalOptions(addSnapshotFilters(command))
    .addHelpText('after', `${DETAILS}${PATTERN_FILES_HELP}`)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          [
            'ldm rewrite -n --host tower --exclude node_modules',
            'what would this remove from all snapshots of a host?',
          ],
          ['ldm rewrite 1a2b3c4d --exclude /home/me/secret --forget', 'remove a file from a snapshot'],
          ['ldm rewrite 1a2b3c4d --include /home/me/photos', 'make a snapshot of only a part'],
          ['ldm rewrite latest --new-host tower', 'correct the host'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, selectors: string[], flags: RewriteFlags) => {
        const [{ rewriteSnapshots }, { reportRewrite }] = await Promise.all([
          import('./rewrite.ts'),
          import('./report.ts'),
        ]);
        const { newHost, newTime, forget, dryRun } = flags;
        const patterns = await readPatterns(flags, 'exclude');
        const include = await readPatterns(flags, 'include');
        const options = { selectors, filter: snapshotFilterOf(flags), patterns, include };
        const result = await rewriteSnapshots(overriding(context, flags), {
          ...options,
          ...omitUndefined({ newHost, newTime, forget, dryRun }),
        });
        reportRewrite(output, result);
        return EXIT_SUCCESS;
      }),
    );
}
