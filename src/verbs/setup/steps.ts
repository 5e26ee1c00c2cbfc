import { dirname } from 'node:path';
import type { Command } from 'commander';
import { createSecretFile } from '../../core/files/target/replace-file.ts';
import { byteStringFromText } from '../../core/util/byte-string.ts';
import { makeDirectories } from '../../core/util/make-directories.ts';
import type { CommandOutcome, OutputChanges } from '../../console/command-runner.ts';
import { EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { withTilde } from '../../console/input/paths.ts';
import { type ProfileContent, addProfile, profileText } from './profile-text.ts';
import type { Answers } from './questions.ts';

/** Something to do, as a command that does the same. */
interface Step {
  readonly commandLine: string;
  readonly purpose: string;
  /** Lines to show below the command. */
  readonly details?: readonly string[];
  /** Returns the exit code. */
  readonly run: () => Promise<number>;
}

interface Machine {
  readonly program: Command;
  readonly runCommand: (words: readonly string[], changes: OutputChanges) => Promise<CommandOutcome>;
}

/** Returns what remains to be done, in its order. */
export function stepsFor(answers: Answers, machine: Machine): Step[] {
  const { name, password, found, installsSchedule } = answers;
  const ldm = (purpose: string, ...words: readonly string[]): Step => ({
    commandLine: ['ldm', ...words].join(' '),
    purpose,
    run: async () => (await machine.runCommand(words, { isFollowed: true })).exitCode,
  });
  return [
    ...(password.kind === 'file' && password.bytes !== undefined ? [passwordStep(password.path, password.bytes)] : []),
    ...(answers.isNewProfile ? [profileStep(name, contentOf(answers), machine.program)] : []),
    ...(found === 'nothing' ? [ldm('create the repository', '-p', name, 'init')] : []),
    ...(installsSchedule ? [ldm('start the runs at their times', 'schedule', 'add', name)] : []),
    ldm('make the first backup', 'run', name),
  ];
}

export function contentOf({ repo, password, paths, disk, schedule }: Answers): ProfileContent {
  return {
    repo,
    passwordFile: password.kind === 'file' ? withTilde(password.path) : undefined,
    passwordCommand: password.kind === 'command' ? password.command : undefined,
    paths,
    schedule,
    onlyIf: disk === undefined ? [] : [`mounted:${disk}`],
  };
}

function passwordStep(path: string, bytes: Buffer): Step {
  return {
    commandLine: `(umask 077; cat > ${withTilde(path)})`,
    purpose: 'keep the password where only you can read it',
    run: async () => {
      makeDirectories(dirname(path), { mode: 0o700 });
      const line = Buffer.concat([bytes, Buffer.from('\n')]);
      createSecretFile(byteStringFromText(path), line);
      for (const secret of [bytes, line]) secret.fill(0);
      return EXIT_SUCCESS;
    },
  };
}

function profileStep(name: string, content: ProfileContent, program: Command): Step {
  return {
    commandLine: 'ldm config edit',
    purpose: 'add this profile:',
    details: profileText(name, content).trimEnd().split('\n'),
    run: async () => {
      await addProfile(name, content, program);
      return EXIT_SUCCESS;
    },
  };
}
