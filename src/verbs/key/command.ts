import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { defineHelp } from '../../console/help-command.ts';
import { defineKeyAdd } from './add-command.ts';
import { defineKeyExport } from './export-command.ts';
import { defineKeyImport } from './import-command.ts';
import { defineKeyList } from './list-command.ts';
import { defineKeyPasswd } from './passwd-command.ts';
import { defineKeyRemove } from './remove-command.ts';
import { defineKeyRotate } from './rotate-command.ts';
import { defineKeyTest } from './test-command.ts';

/** In the order of the help: passwords first, then the master key, then the page for paper. */
const DEFINITIONS: readonly ((group: Command, runner: CommandRunner) => void)[] = [
  defineKeyList,
  defineKeyAdd,
  defineKeyPasswd,
  defineKeyRemove,
  defineKeyRotate,
  defineKeyExport,
  defineKeyTest,
  defineKeyImport,
];

const DETAILS = `
An encrypted repository has one master key. Each password has a file in the repository that holds the master key, sealed
under that password. If all of these files or all passwords are lost, nobody can read the repository: export the master
key once, print it, and keep the paper elsewhere.`;

export function defineKey(program: Command, runner: CommandRunner): void {
  const group = program
    .command('key')
    .description('Manage the passwords of a repository, and its key on paper.')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm key export -o page.txt', 'print this page, then delete the file'],
          ['ldm key passwd', 'change your password'],
          ['ldm key add --label anna', 'give somebody else access with a password of their own'],
          ['ldm key add --help', 'explain a command'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    );
  for (const define of DEFINITIONS) define(group, runner);
  defineHelp(group, 'key help add');
}
