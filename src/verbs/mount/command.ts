import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { collect } from '../../console/options/option-values.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { pathInput } from '../../console/input/raw-arguments.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

interface MountFlags extends SnapshotFilterFlags {
  readonly pathTemplate?: readonly string[];
  readonly allowOther?: boolean;
  /** From `--no-default-permissions`. */
  readonly defaultPermissions: boolean;
  readonly ownerRoot?: boolean;
}

const NOTES = `
The directory must exist and be empty. It then contains:
  ids/<id>             every snapshot, by the first digits of its id
  snapshots/<time>     the same by local time, and latest
  hosts/<host>/<time>  the same for each host, and latest
  tags/<tag>/<time>    the same for each tag, and latest
  latest               the newest snapshot
With --path-template there are only the directories that it says.
Below each snapshot, paths are as \`ldm ls\` shows them. New snapshots appear while the repository is mounted.

The command stays in the foreground; a shell runs it in the background with &. Ctrl+C, SIGTERM and
\`fusermount3 -u <directory>\` unmount, and so does a repository that is gone. Until then, \`ldm compact\` cannot run,
and deletes do not return space.

Templates:
  %i the short id, %I the long one, %u the user, %h the host, %t a tag (a path for each), %T the time, %% a percent sign
  Where a path ends with the time, latest is a link to the newest one. Of several snapshots with the same path, all but
  the oldest get a number: -1, -2.`;

export function defineMount(program: Command, runner: CommandRunner): void {
  const command = program
    .command('mount')
    .description('Show the snapshots as read-only directories, until Ctrl+C.')
    .argument('<directory>', 'where to mount: an existing empty directory')
    .option(
      '--path-template <template>',
      'where the snapshots appear: backups/%h/%T; may be repeated (see Templates)',
      collect,
    )
    .option('--allow-other', 'let other users access the files, as far as the permissions allow')
    .option('--no-default-permissions', 'with --allow-other: let every user read every file')
    .option('--owner-root', 'show all files as owned by root');
  addSnapshotFilters(command)
    .addHelpText(
      'after',
      `${NOTES}\n${formatHelpFooter({
        examples: [
          ['ldm mount /mnt/snapshots', 'all snapshots'],
          ["ldm mount /mnt/snapshots --path-template '%h/%u/%T'", 'by host and user'],
          ['ldm mount --host tower --tag daily ~/snapshots', 'some of them'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: { 130: 'interrupted by SIGINT before it was mounted (129: SIGHUP, 143: SIGTERM)' },
      })}`,
    )
    .action(
      runner.inSession(async (session, directory: string, flags: MountFlags) => {
        const [{ mount }, { reportMounted, reportUnmounted }] = await Promise.all([
          import('./mount.ts'),
          import('./report.ts'),
        ]);
        const { allowOther, ownerRoot, defaultPermissions, pathTemplate: pathTemplates } = flags;
        const result = await mount(session.context, {
          directory: pathInput(directory),
          filter: snapshotFilterOf(flags),
          ignorePermissions: !defaultPermissions,
          ...omitUndefined({ allowOther, ownerRoot, pathTemplates }),
          onMounted: (mounted) => {
            session.endProgress();
            reportMounted(session.output, mounted);
          },
        });
        session.finishNotices();
        reportUnmounted(session.output, result);
        return EXIT_SUCCESS;
      }),
    );
}
