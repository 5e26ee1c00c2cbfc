import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { CommandRunner, Surroundings } from '../../console/command-runner.ts';
import {
  EXIT_DAMAGED,
  EXIT_FAILURE,
  EXIT_SUCCESS,
  EXIT_USAGE,
  REPOSITORY_EXIT_CODES,
} from '../../console/exit-codes.ts';
import { groupByValue } from '../../console/options/group-option.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { durationValue } from '../../console/options/option-values.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';
import type { Session } from '../../console/session.ts';

interface OverdueFlags extends SnapshotFilterFlags {
  readonly all?: boolean;
  readonly maxAge?: number;
  readonly by?: ReturnType<typeof groupByValue>;
}

const DETAILS = `
Of profiles, the records of \`ldm run\` on this machine are asked: when the last run began that saved a snapshot, if some
files could not be read too. Without profiles, it is the snapshots in the repository: of each host and set of paths, how
old is the newest one? So the machine that stores the backups of others can watch them. What is dated in the future counts
as nothing. If there are no snapshots at all, that is overdue.`;

const GROUP_AGE_MS = 26 * 3_600_000;

export function defineOverdue(program: Command, runner: CommandRunner): void {
  const ofProfiles = runner.withoutSession(askRecords);
  const inRepository = runner.inSession(askRepository);
  const command = program
    .command('overdue')
    .description(
      'Say which backups are too old. Looks at profiles, or at everything that a repository has snapshots of.',
    )
    .argument('[profiles...]', 'profiles or groups of profiles (default: what is in the repository)')
    .option('--all', 'all profiles that have a schedule or a max-age')
    .option(
      '--max-age <time>',
      'how old a backup may be, such as 26h (default: max-age or twice the schedule of a profile; 26h in a repository)',
      durationValue,
    )
    .option(
      '--by <members>',
      'what to group snapshots by: host,path,tag, or some of these (default: host,path)',
      groupByValue,
    );
  addSnapshotFilters(command)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm overdue --all', 'are all profiles of this machine backed up?'],
          ['ldm overdue --max-age 3d home', 'is this one?'],
          ['ldm -r /srv/backup/ldm overdue --by host', 'which machines have not been backed up for 26 hours?'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: {
          0: 'success: nothing is overdue',
          1: 'something is overdue',
          2: 'wrong usage, or any other error',
          4: 'snapshots are damaged: more may be overdue than is listed',
        },
      }),
    )
    .action(async (...received: unknown[]) => {
      // An error must not look like an answer.
      runner.failureExitCode = EXIT_USAGE;
      const [names, flags] = received as [string[], OverdueFlags];
      await (names.length > 0 || flags.all === true ? ofProfiles : inRepository)(...received);
    });
}

async function askRecords(
  { output, given, program }: Surroundings,
  names: string[],
  flags: OverdueFlags,
): Promise<number> {
  const { all: isAll = false, maxAge: maxAgeMs } = flags;
  const ofSnapshots = ['by', 'host', 'path', 'tag', 'since', 'before'].find((name) => name in flags);
  if (ofSnapshots !== undefined) throw new UsageError(`--${ofSnapshots} is for snapshots, not for profiles`);
  const [{ readPlannedProfiles }, { findProfileAges }, { reportDamage, reportProfileAges }] = await Promise.all([
    import('../../console/jobs/planned-profiles.ts'),
    import('./profile-ages.ts'),
    import('./report.ts'),
  ]);
  const { usable, refused } = await readPlannedProfiles({ names, isAll, given, program });
  const onProblem = (message: string): void => reportDamage(output, message);
  let isComplete = refused.length === 0;
  const onUnreadable = (profile: string, message: string): void => {
    isComplete = false;
    onProblem(`${profile}: ${message}`);
  };
  for (const { name, error } of refused) onUnreadable(name, error.message);
  const options = { maxAgeMs, isAll, environment: process.env, onProblem, onUnreadable };
  const ages = findProfileAges(usable, options);
  reportProfileAges(output, ages);
  if (!isComplete) return EXIT_USAGE;
  return ages.some(({ isOverdue }) => isOverdue) ? EXIT_FAILURE : EXIT_SUCCESS;
}

async function askRepository({ context, output }: Session, _names: string[], flags: OverdueFlags): Promise<number> {
  const [{ findOverdueGroups }, { reportGroupAges }] = await Promise.all([
    import('./group-ages.ts'),
    import('./report.ts'),
  ]);
  const { maxAge: maxAgeMs = GROUP_AGE_MS, by: groupBy = ['host', 'paths'] } = flags;
  const found = await findOverdueGroups(context, { maxAgeMs, groupBy, ...snapshotFilterOf(flags) });
  reportGroupAges(output, found.groups, maxAgeMs);
  if (found.unreadableCount > 0) return EXIT_DAMAGED;
  const isOverdue = found.groups.length === 0 || found.groups.some((group) => group.isOverdue);
  return isOverdue ? EXIT_FAILURE : EXIT_SUCCESS;
}
