import { Command } from 'commander';
import type { CommandRunner } from '../console/command-runner.ts';
import { defineAdopt } from '../realm/verbs/adopt/command.ts';
import { defineAgent } from '../realm/verbs/agent/command.ts';
import { defineBackup } from '../verbs/backup/command.ts';
import { defineCache } from '../verbs/cache/command.ts';
import { defineCat } from '../verbs/dump/cat-command.ts';
import { defineCheck } from '../verbs/check/command.ts';
import { defineCompact } from '../verbs/compact/command.ts';
import { defineCompletion } from '../verbs/completion/command.ts';
import { defineCopy } from '../verbs/copy/command.ts';
import { defineDelete } from '../verbs/delete/command.ts';
import { defineDiff } from '../verbs/diff/command.ts';
import { defineDoctor } from '../verbs/doctor/command.ts';
import { defineDu } from '../verbs/du/command.ts';
import { defineDump } from '../verbs/dump/command.ts';
import { defineFilter } from '../filters/command.ts';
import { defineFind } from '../verbs/find/command.ts';
import { defineForget } from '../verbs/forget/command.ts';
import { defineGroup } from '../verbs/group/command.ts';
import { defineHave } from '../verbs/have/command.ts';
import { defineHelp } from '../console/help-command.ts';
import { defineHistory } from '../verbs/history/command.ts';
import { defineImportTar } from '../verbs/import-tar/command.ts';
import { defineInit } from '../verbs/init/command.ts';
import { defineKey } from '../verbs/key/command.ts';
import { defineLocate } from '../realm/verbs/locate/command.ts';
import { defineLs } from '../verbs/ls/command.ts';
import { definePin } from '../verbs/tag/pin-command.ts';
import { defineMount } from '../verbs/mount/command.ts';
import { defineRealm } from '../realm/verbs/realm/command.ts';
import { defineRepair } from '../verbs/repair/command.ts';
import { defineRestore } from '../verbs/restore/command.ts';
import { defineRewrite } from '../verbs/rewrite/command.ts';
import { defineServe } from '../verbs/serve/command.ts';
import { defineShow } from '../verbs/snapshots/show-command.ts';
import { defineSnapshots } from '../verbs/snapshots/command.ts';
import { defineStats } from '../verbs/stats/command.ts';
import { defineTag } from '../verbs/tag/command.ts';
import { defineUndelete } from '../verbs/delete/undelete-command.ts';
import { defineUnpin } from '../verbs/tag/unpin-command.ts';
import { defineVersion } from '../verbs/version/command.ts';
import { ALL_EXIT_CODES } from '../console/exit-codes.ts';
import { formatHelpFooter, summaryOf } from '../console/options/help-footer.ts';
import { count, durationValue, sizeValue, connectionsValue } from '../console/options/option-values.ts';
import { makeStrict } from './strict-options.ts';

type Define = (program: Command, runner: CommandRunner) => void;

/** In the order of the help: the most important groups and commands first. */
const GROUPS: readonly (readonly [heading: string, definitions: readonly Define[]])[] = [
  ['Everyday:', [defineBackup, defineRestore, defineMount]],
  [
    'Snapshots:',
    [
      defineSnapshots,
      defineTag,
      definePin,
      defineUnpin,
      defineRewrite,
      defineCopy,
      defineForget,
      defineDelete,
      defineUndelete,
    ],
  ],
  ['Files and archives:', [defineCat, defineDump, defineImportTar]],
  ['Inspect:', [defineShow, defineLs, defineFind, defineHistory, defineDiff, defineDu, defineHave, defineLocate]],
  [
    'Repository:',
    [
      defineInit,
      defineCheck,
      defineDoctor,
      defineRepair,
      defineCompact,
      defineStats,
      defineKey,
      defineGroup,
      defineRealm,
      defineAdopt,
      defineAgent,
      defineCache,
      defineServe,
    ],
  ],
  ['Program:', [defineCompletion, defineVersion, (program) => defineHelp(program, 'help backup')]],
  ['Inside:', [defineFilter]],
];

/** Defines the whole command line. Only commander is loaded until a command runs. */
export function createProgram(runner: CommandRunner): Command {
  const program = new Command('ldm')
    .description('Back up files with deduplication, restore them, and delete snapshots with exact accounting.')
    .usage('[options] <command>')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, subcommandTerm: termOf, subcommandDescription: summaryOf })
    // Errors are printed in one place, with our own exit codes.
    .configureOutput({ outputError: () => {} });
  defineGlobalOptions(program);
  for (const [heading, definitions] of GROUPS) {
    program.commandsGroup(heading);
    for (const define of definitions) define(program, runner);
  }
  makeStrict(program);
  program.addHelpText(
    'after',
    formatHelpFooter({
      examples: [
        ['ldm backup ~/data', 'back up a directory'],
        ['ldm backup --help', 'explain a command'],
      ],
      exitCodes: ALL_EXIT_CODES,
    }),
  );
  return program;
}

/** The list of commands has only their names. */
function termOf(command: Command): string {
  return [command.name(), ...command.aliases()].join('|');
}

function defineGlobalOptions(program: Command): void {
  program
    .option(
      '-r, --repo <place>',
      'the repository: a directory, sftp:user@host:/path, s3:https://endpoint/bucket/prefix or rclone:remote:path (LDM_REPOSITORY; default: $XDG_DATA_HOME/ldm/repository)',
    )
    .option(
      '-p, --profile <name>',
      'take options from this profile in $XDG_CONFIG_HOME/ldm/config.toml (LDM_PROFILE; default: default, if it exists)',
    )
    .option('--json', 'one JSON object per line on stdout, with its kind as message_type (LDM_JSON=1)')
    .option('-q, --quiet', 'print only errors and warnings (LDM_QUIET=1)')
    .option('-v, --verbose', 'print more; may be repeated (LDM_VERBOSE=1)', count, 0)
    .option(
      '--lock-wait <duration>',
      'wait this long for a locked repository: 30s, 5m, 1h (LDM_LOCK_WAIT; default: 1m; compact, repair, key passwd, key remove and key rotate: not at all)',
      durationValue,
    )
    .option(
      '--retry-for <duration>',
      'repeat for this long what fails on another machine and may pass: 30s, 5m, 1h (LDM_RETRY_FOR; default: 15m)',
      durationValue,
    )
    .option(
      '--ssh-command <command>',
      'start this command with the arguments for ssh (LDM_SSH_COMMAND; default: ssh); no shell',
    )
    .option(
      '--rclone-command <command>',
      'start this command with the arguments for rclone (LDM_RCLONE_COMMAND; default: rclone); no shell',
    )
    .option(
      '--limit-upload <rate>',
      'send at most so many bytes per second to another machine: 2MiB, 500K (LDM_LIMIT_UPLOAD)',
      sizeValue,
    )
    .option('--limit-download <rate>', 'the same for what is received (LDM_LIMIT_DOWNLOAD)', sizeValue)
    .option(
      '--connections <number>',
      'requests to another machine that are under way at once, 1 to 32 (LDM_CONNECTIONS; default: 16)',
      connectionsValue,
    )
    .option('--no-cache', 'keep no copies of files of repositories on other machines (LDM_NO_CACHE=1); see ldm cache')
    .option('--no-progress', 'show no progress (LDM_NO_PROGRESS=1)')
    .option(
      '--password-file <file>',
      'take the password of an encrypted repository from this file (LDM_PASSWORD_FILE); default: ask on the terminal',
    )
    .option(
      '--password-command <command>',
      'take it from what this command prints (LDM_PASSWORD_COMMAND); no shell: quotes work, variables do not',
    )
    .option(
      '--no-encryption',
      'use a repository that is not encrypted, although the environment or a profile has a password (LDM_NO_ENCRYPTION=1)',
    );
}
