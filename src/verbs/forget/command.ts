import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { addRemovalOptions, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { groupByValue } from '../../console/options/group-option.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { sizeValue } from '../../console/options/option-values.ts';
import { addRetentionOptions, hasTypedRule, retentionPolicyOf } from './retention-options.ts';
import type { RetentionFlags } from './retention-options.ts';
import type { Session } from '../../console/session.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';
import { futureTimeValue } from '../../console/options/span-values.ts';

interface ForgetFlags extends SnapshotFilterFlags, RetentionFlags, RemovalFlags {
  readonly groupBy?: ReturnType<typeof groupByValue>;
  readonly keepSize?: number;
  readonly allowEmptyGroup?: boolean;
  readonly dryRun?: boolean;
  readonly reclaim: boolean;
  readonly undoFor?: string;
}

const RULES = `
A snapshot is kept if at least one rule keeps it. The rules are those of restic. Hours, days, weeks (from Monday), months
and years follow the clock of the machine that made the backup. Pinned snapshots are always kept. To delete snapshots by
id, use \`ldm delete\`; \`ldm forget <id>\` does the same.`;

export function defineForget(program: Command, runner: CommandRunner): void {
  const command = program
    .command('forget')
    .description('Delete the snapshots that no rule keeps, and return the space.')
    .argument('[snapshots...]', 'instead of rules: ids of snapshots to delete');
  addRetentionOptions(command)
    .option(
      '--keep-size <size>',
      'delete snapshots, choosing those that free the most space per snapshot, until the repository is no larger than this, such as 500GiB',
      sizeValue,
    )
    .option(
      '-g, --group-by <members>',
      "apply the rules separately to each combination of host, paths and tags, such as host,tags; '' is one group for all (default: host,paths)",
      groupByValue,
    )
    .option('--allow-empty-group', 'allow the rules to delete all snapshots of a group')
    .option('-n, --dry-run', 'delete nothing, only print what the rules would do')
    .option(
      '--undo-for <time>',
      'keep the space for this span, such as 7d, or until a date; until then `ldm undelete` works',
      futureTimeValue,
    )
    .option('--no-reclaim', 'keep the space until the next `ldm compact` or delete; until then `ldm undelete` works');
  addRemovalOptions(addSnapshotFilters(command))
    .addHelpText('after', RULES)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          [
            'ldm forget -n --keep-daily 7 --keep-weekly 5 --keep-monthly 12',
            'print what a policy would delete and free',
          ],
          ['ldm forget --keep-within 30d --keep-yearly unlimited', 'keep 30 days, and one snapshot of each year'],
          ['ldm forget --keep-within 7d --keep-daily 60 --keep-size 500GiB', 'the same with a limit for the size'],
          ['ldm forget --keep-last 10 --tag hourly --host web1', 'only snapshots of one host with one tag'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async (session, selectors: string[], flags: ForgetFlags) => {
        if (selectors.length > 0 && hasTypedRule(command)) {
          throw new UsageError('give either snapshots to delete, or rules that say which to keep');
        }
        await (selectors.length > 0 ? forgetNamed(session, selectors, flags) : forget(session, flags));
        return EXIT_SUCCESS;
      }),
    );
}

async function forget({ context, output }: Session, flags: ForgetFlags): Promise<void> {
  const [{ forgetByPolicy }, { reportForget }] = await Promise.all([import('./forget.ts'), import('./report.ts')]);
  const { groupBy, keepSize: keepSizeBytes, allowEmptyGroup, dryRun, reclaim, undoFor: undoUntil } = flags;
  const options = {
    policy: retentionPolicyOf(flags),
    filter: snapshotFilterOf(flags),
    reclaim,
    ...omitUndefined({ groupBy, keepSizeBytes, allowEmptyGroup, dryRun, undoUntil }),
  };
  reportForget(output, await forgetByPolicy(overriding(context, flags), options));
}

async function forgetNamed({ context, output }: Session, selectors: string[], flags: ForgetFlags): Promise<void> {
  const [{ deleteSnapshots }, { reportDelete }] = await Promise.all([
    import('../../core/removing/delete.ts'),
    import('../../console/reports/delete-report.ts'),
  ]);
  const { dryRun, reclaim, undoFor: undoUntil } = flags;
  const options = { selectors, reclaim, filter: snapshotFilterOf(flags), ...omitUndefined({ dryRun, undoUntil }) };
  reportDelete(output, await deleteSnapshots(overriding(context, flags), options));
}
