import { Command } from 'commander';
import type { CommandRunner } from './command-runner.ts';
import { defineBackup } from './commands/backup.ts';
import { defineCheck } from './commands/check.ts';
import { defineCompact } from './commands/compact.ts';
import { defineCopy } from './commands/copy.ts';
import { defineDelete } from './commands/delete.ts';
import { defineFilter } from './commands/filter.ts';
import { defineHelp } from './commands/help.ts';
import { defineInit } from './commands/init.ts';
import { defineKey } from './commands/key.ts';
import { defineLs } from './commands/ls.ts';
import { defineRepair } from './commands/repair.ts';
import { defineRestore } from './commands/restore.ts';
import { defineSnapshots } from './commands/snapshots.ts';
import { defineStats } from './commands/stats.ts';
import { defineUndelete } from './commands/undelete.ts';
import { defineVersion } from './commands/version.ts';
import { ALL_EXIT_CODES } from './exit-codes.ts';
import { formatHelpFooter } from './help-footer.ts';
import { count, durationValue } from './option-values.ts';
import { makeStrict } from './strict-options.ts';

/** In the order of the help: the most important commands first. */
const DEFINITIONS: readonly ((program: Command, runner: CommandRunner) => void)[] = [
  defineBackup,
  defineSnapshots,
  defineLs,
  defineRestore,
  defineCopy,
  defineDelete,
  defineUndelete,
  defineCompact,
  defineStats,
  defineFilter,
  defineCheck,
  defineRepair,
  defineInit,
  defineKey,
  defineVersion,
];

/** Defines the whole command line. Only commander is loaded until a command runs. */
export function createProgram(runner: CommandRunner): Command {
  const program = new Command('ldm')
    .description('Back up files with deduplication, restore them, and delete snapshots with exact accounting.')
    .usage('[options] <command>')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    // Errors are printed in one place, with our own exit codes.
    .configureOutput({ outputError: () => {} });
  defineGlobalOptions(program);
  for (const define of DEFINITIONS) define(program, runner);
  defineHelp(program, 'help backup');
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

function defineGlobalOptions(program: Command): void {
  program
    .option('-r, --repo <place>', 'the repository (LDM_REPOSITORY; default: $XDG_DATA_HOME/ldm/repository)')
    .option('--json', 'one JSON object per line on stdout, with its kind as message_type (LDM_JSON=1)')
    .option('-q, --quiet', 'print only errors and warnings (LDM_QUIET=1)')
    .option('-v, --verbose', 'print more; may be repeated (LDM_VERBOSE=1)', count, 0)
    .option(
      '--lock-wait <duration>',
      'wait this long for a locked repository: 30s, 5m, 1h (LDM_LOCK_WAIT; default: 1m; compact, repair, key passwd, key remove and key rotate: not at all)',
      durationValue,
    )
    .option('--no-progress', 'show no progress (LDM_NO_PROGRESS=1)')
    .option(
      '--password-file <file>',
      'take the password of an encrypted repository from this file (LDM_PASSWORD_FILE); default: ask on the terminal',
    )
    .option(
      '--password-command <command>',
      'take it from what this command prints (LDM_PASSWORD_COMMAND); no shell: quotes work, variables do not',
    );
}
