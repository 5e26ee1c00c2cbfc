import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { NoPasswordError, UsageError, WrongPasswordError } from '../../core/errors.ts';
import type { PasswordSource } from '../../core/session/unlock.ts';
import { withTilde } from '../../console/input/paths.ts';
import { runPasswordCommand } from '../../console/password/password-command.ts';
import { readPasswordFile } from '../../console/password/password-file.ts';
import { splitWords } from '../../console/password/split-words.ts';
import { askNewPassword, askPassword } from '../../console/password/terminal-prompt.ts';
import { interruptionSignal } from '../../console/signals.ts';
import type { Desk } from './desk.ts';
import type { Found, RepositoryProbe } from './repository-probe.ts';

/** Where the profile gets the password from. */
export type PasswordAnswer =
  /** The repository is not encrypted. */
  | { readonly kind: 'none' }
  /** `bytes`: to be written to the file, which does not exist yet. */
  | { readonly kind: 'file'; readonly path: string; readonly bytes: Buffer | undefined }
  | { readonly kind: 'command'; readonly command: string };

interface Asked {
  readonly desk: Desk;
  readonly name: string;
  readonly repo: string;
  readonly found: Found;
  readonly probe: RepositoryProbe;
  /** The directory of the configuration file. */
  readonly directory: string;
}

/** Asks where the password is kept, and for the password itself. That of an existing repository is tried. */
export async function askPasswordSource(asked: Asked): Promise<PasswordAnswer> {
  const { desk, name, found, directory } = asked;
  if (found === 'plain') {
    desk.say('The repository is not encrypted, so it has no password.');
    return { kind: 'none' };
  }
  const path = join(directory, `${name}.password`);
  desk.say('Scheduled runs cannot ask for the password. They get it');
  desk.say(`  1  from the file ${withTilde(path)}, which only you can read`);
  desk.say('  2  from a command that prints it, such as `pass show ldm` or `secret-tool lookup ldm home`');
  const choice = await desk.askUntil(
    async () => desk.ask('1 or 2', '1'),
    (answer) => {
      if (answer === '1' || answer === '2') return answer;
      throw new UsageError(`${answer} is neither 1 nor 2`);
    },
  );
  return choice === '1' ? await askForFile(path, asked) : await askForCommand(asked);
}

/** The same for a profile that has a source already. */
export async function passwordOf(options: Readonly<Record<string, unknown>>, asked: Asked): Promise<PasswordAnswer> {
  const { passwordFile, passwordCommand } = options;
  if (typeof passwordFile === 'string') return await askForFile(passwordFile, asked);
  if (typeof passwordCommand === 'string') return { kind: 'command', command: passwordCommand };
  return { kind: 'none' };
}

async function askForFile(path: string, asked: Asked): Promise<PasswordAnswer> {
  const { desk, repo, found, probe } = asked;
  if (existsSync(path)) {
    desk.say(`${withTilde(path)} exists. Its password is used.`);
    if (found === 'encrypted')
      await probe.open(
        repo,
        sourceOf(async () => readFile(path)),
        desk.say.bind(desk),
      );
    return { kind: 'file', path, bytes: undefined };
  }
  if (found === 'nothing') {
    const bytes = await askNewPassword(desk.question(`New password for the repository ${repo}`), interruptionSignal);
    return { kind: 'file', path, bytes };
  }
  let bytes: Buffer = Buffer.alloc(0);
  const ask = async (): Promise<Buffer> => {
    bytes = await askPassword(desk.question(`Password of the repository ${repo}`), interruptionSignal);
    return Buffer.from(bytes);
  };
  await probe.open(repo, { ...sourceOf(ask), isConfigured: false }, desk.say.bind(desk));
  return { kind: 'file', path, bytes };
}

async function readFile(path: string): Promise<Buffer> {
  return await readPasswordFile(path, { signal: interruptionSignal, warn: () => undefined });
}

async function askForCommand({ desk, repo, found, probe }: Asked): Promise<PasswordAnswer> {
  return await desk.askUntil(
    async () => desk.ask('The command (no shell: quotes work, variables do not)'),
    async (command) => {
      const words = splitWords(command, 'the command');
      const read = async (): Promise<Buffer> =>
        runPasswordCommand(words, { environment: process.env, signal: interruptionSignal });
      if (found === 'encrypted') await probe.open(repo, sourceOf(read), desk.say.bind(desk));
      else (await read()).fill(0);
      return { kind: 'command', command } as const;
    },
    isWrongSource,
  );
}

function sourceOf(read: () => Promise<Buffer>): PasswordSource {
  return { isConfigured: true, meansEncryption: true, isForThisRepository: true, read, readNew: read };
}

function isWrongSource(error: unknown): error is UsageError | NoPasswordError | WrongPasswordError {
  return error instanceof UsageError || error instanceof NoPasswordError || error instanceof WrongPasswordError;
}
