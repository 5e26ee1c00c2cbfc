import type { Command } from 'commander';
import type { CommandRunner } from '../../../console/command-runner.ts';
import { formatHelpFooter } from '../../../console/options/help-footer.ts';
import { defineHelp } from '../../../console/help-command.ts';
import { defineRealmCreate } from './create-command.ts';
import { defineRealmJoin } from './join-command.ts';
import { defineRealmForget, defineRealmLeave } from './leave-command.ts';
import { defineRealmPublish } from './publish-command.ts';
import { defineRealmStatus } from './status-command.ts';

const DETAILS = `
A realm is a set of repositories, its domains, that have the same keys of chunk ids. So they can find out whether another
one already has the data that is about to be stored. docs/domains.md has more about it.`;

export function defineRealm(program: Command, runner: CommandRunner): void {
  const realm = program
    .command('realm')
    .description('Let several repositories find data in each other. Manages the keys that they share for this.')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm realm create ~/work.realm', 'create a realm'],
          ['ldm init -r /mnt/a --realm ~/work.realm', 'create a repository with its keys'],
          ['ldm realm join --coordinator /mnt/shared/realm', 'tell the other repositories what it has'],
          ['ldm realm create --help', 'explain a command'],
        ],
      }),
    );
  defineRealmCreate(realm, runner);
  defineRealmJoin(realm, runner);
  defineRealmStatus(realm, runner);
  defineRealmPublish(realm, runner);
  defineRealmLeave(realm, runner);
  defineRealmForget(realm, runner);
  defineHelp(realm, 'realm help create');
}
