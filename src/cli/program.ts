import { Command, InvalidArgumentError } from 'commander';
import type { CommandRunner } from '../console/command-runner.ts';
import { HEADINGS, type Verb } from '../console/verb.ts';
import { VERBS } from './verbs.ts';
import { count, durationValue, positiveIntegerValue, sizeValue, timeValue } from '../console/options/option-values.ts';
import { s3RetentionValue, s3StorageClassValue } from '../console/options/s3-values.ts';
import { HELP_FORMAT } from './program-help.ts';
import { MEMORY_BYTES_MIN } from '../core/util/work-limits.ts';
import { makeStrict } from './strict-options.ts';

/** Defines the whole command line of these verbs. Only commander is loaded until a command runs. */
export function createProgram(runner: CommandRunner, verbs: readonly Verb[] = VERBS): Command {
  const program = new Command('ldm')
    .description('Back up files with deduplication, restore them, and delete snapshots with exact accounting.')
    .usage('[options] <command>')
    .exitOverride()
    .configureHelp(HELP_FORMAT)
    // Errors are printed in one place, with our own exit codes.
    .configureOutput({ outputError: () => {}, writeErr: writeHelp })
    .helpOption('-h, --help', 'print this help');
  defineGlobalOptions(program);
  for (const heading of HEADINGS) {
    program.commandsGroup(`${heading}:`);
    for (const { define } of verbs.filter((verb) => verb.heading === heading)) define(program, runner);
  }
  makeStrict(program);
  return program;
}

/** Without a command, the help goes to stderr. With `--json`, the error alone does. */
function writeHelp(text: string): void {
  if (!process.argv.includes('--json') && !/^(1|true)$/.test(process.env['LDM_JSON'] ?? '')) process.stderr.write(text);
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
    );
  defineRemoteOptions(program)
    .option(
      '--threads <number>',
      'compute in at most so many threads at once: read, hash, compress, verify (LDM_THREADS; default: one more than cores)',
      positiveIntegerValue,
    )
    .option(
      '--memory <size>',
      'fit threads, caches and read-ahead into this much memory: 200MiB (LDM_MEMORY; at least 176MiB); not what directories with very many files need',
      memoryValue,
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

/** For repositories on other machines. */
function defineRemoteOptions(program: Command): Command {
  return program
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
    .option(
      '--s3-retention <days>',
      'have a bucket with object lock refuse to remove or change what a restore needs, for at least this many days after each backup: 30, or governance:30 (LDM_S3_RETENTION)',
      s3RetentionValue,
    )
    .option(
      '--s3-storage-class <class>',
      'the storage class of packs of 128 KiB or more in a bucket, such as STANDARD_IA (LDM_S3_STORAGE_CLASS)',
      s3StorageClassValue,
    )
    .option(
      '--s3-as-of <time>',
      'read a repository in a bucket with versions as it was at this time, and write nothing to it (LDM_S3_AS_OF)',
      timeValue,
    );
}

const CONNECTIONS_MAX = 32;

/** For the number of requests that are under way at once. */
function connectionsValue(text: string): number {
  const value = positiveIntegerValue(text);
  if (value > CONNECTIONS_MAX) throw new InvalidArgumentError(`Give a number from 1 to ${CONNECTIONS_MAX}.`);
  return value;
}

/** For a limit of the memory of the process. */
function memoryValue(text: string): number {
  const sizeBytes = sizeValue(text);
  if (sizeBytes >= MEMORY_BYTES_MIN) return sizeBytes;
  throw new InvalidArgumentError(
    `Give at least ${MEMORY_BYTES_MIN / 2 ** 20}MiB: less is used up before the work begins.`,
  );
}
