import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { defineGroupAdd } from './add-command.ts';
import { defineGroupCopies } from './copies-command.ts';
import { defineGroupDrain } from './drain-command.ts';
import { defineGroupList } from './list-command.ts';
import { defineGroupLost } from './lost-command.ts';
import { defineGroupMove } from './move-command.ts';
import { defineGroupRebalance } from './rebalance-command.ts';
import { defineGroupRecover } from './recover-command.ts';
import { defineGroupRemove } from './remove-command.ts';
import { defineGroupState } from './state-command.ts';
import { defineHelp } from '../../console/help-command.ts';

const DETAILS = `
A repository that was created with \`ldm init --group\` keeps the contents of files in several places, its groups:
directories, such as the mount points of disks, directories on SFTP servers, and buckets. Everything else, also all names
and directories, is in the place of the repository itself; with two copies or more, each group has a copy of it. docs/groups.md
has more about it.`;

export function defineGroup(program: Command, runner: CommandRunner): void {
  const group = program
    .command('group')
    .description('Spread a repository over several disks, servers and buckets.')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm group list', 'how full they are, and which of them are offline'],
          ['ldm init --group a=/mnt/a --group b=/mnt/b', 'create a repository with two groups'],
          ['ldm group add c /mnt/c --capacity 4TB', 'add a disk'],
          ['ldm group add --help', 'explain a command'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    );
  defineGroupList(group, runner);
  defineGroupAdd(group, runner);
  for (const command of ['read-only', 'activate'] as const) defineGroupState(group, runner, command);
  defineGroupCopies(group, runner);
  defineGroupMove(group, runner);
  defineGroupRebalance(group, runner);
  defineGroupDrain(group, runner);
  defineGroupRemove(group, runner);
  defineGroupLost(group, runner);
  defineGroupRecover(group, runner);
  defineHelp(group, 'group help add');
}
