import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { NoPasswordError, UsageError } from '../../core/errors.ts';
import type { PasswordSource } from '../../core/session/unlock.ts';
import { isDamagedText } from '../../core/util/byte-string.ts';
import { expandHome } from '../input/paths.ts';
import { splitWords } from './split-words.ts';
import type * as TerminalPrompt from './terminal-prompt.ts';

/** Where a password comes from, in this order of precedence. */
type PasswordOrigin =
  | { readonly kind: 'file'; readonly path: string }
  /** A file that the service manager gives to this process alone. Its mode says nothing about who may read it. */
  | { readonly kind: 'credential'; readonly path: string }
  | { readonly kind: 'command'; readonly words: readonly string[] }
  | { readonly kind: 'variable'; readonly password: string };

export interface PasswordSurroundings {
  readonly environment: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  /** Prints a warning. */
  readonly warn: (message: string) => void;
  /** Runs work during which another program has the terminal: no status line is drawn. */
  readonly withoutStatus: <T>(work: () => Promise<T>) => Promise<T>;
}

/** What to ask on the terminal, and what to say if there is none. */
export interface PasswordQuestions {
  readonly current: string;
  readonly new: string;
  readonly advice: 'give-password' | 'give-realm-password' | 'give-new-password';
}

const CREDENTIAL = 'ldm-password';
const WANTED = 'Give a value, or remove the variable.';

/** Options for a password, as they were given. */
export interface PasswordOptions {
  readonly passwordFile?: string | undefined;
  readonly passwordCommand?: string | undefined;
}

/**
 * Finds out where the password comes from. Returns undefined if only the terminal is left. Reads no file.
 * @throws UsageError
 */
export function findPasswordOrigin(
  options: PasswordOptions & { readonly profilePassword?: PasswordOptions },
  environment: NodeJS.ProcessEnv,
): PasswordOrigin | undefined {
  return (
    fromOptions(options) ??
    fromFile(variable(environment, 'LDM_PASSWORD_FILE')) ??
    fromCommand(variable(environment, 'LDM_PASSWORD_COMMAND'), 'LDM_PASSWORD_COMMAND') ??
    fromVariable(variable(environment, 'LDM_PASSWORD')) ??
    fromOptions(options.profilePassword ?? {}, '') ??
    fromCredential(environment['CREDENTIALS_DIRECTORY'])
  );
}

/** The same for a password that only options can give. `prefix`: of the names of the options, for messages. */
export function fromOptions(
  { passwordFile, passwordCommand }: PasswordOptions,
  prefix = '--',
): PasswordOrigin | undefined {
  if (passwordFile !== undefined && passwordCommand !== undefined) {
    throw new UsageError(`${prefix}password-file and ${prefix}password-command cannot be combined`);
  }
  return fromFile(passwordFile) ?? fromCommand(passwordCommand, `${prefix}password-command`);
}

function fromFile(path: string | undefined): PasswordOrigin | undefined {
  return path === undefined ? undefined : { kind: 'file', path: expandHome(path) };
}

function fromCommand(text: string | undefined, origin: string): PasswordOrigin | undefined {
  return text === undefined ? undefined : { kind: 'command', words: splitWords(text, origin) };
}

function fromVariable(password: string | undefined): PasswordOrigin | undefined {
  if (password === undefined) return undefined;
  if (!isDamagedText(password)) return { kind: 'variable', password };
  throw new UsageError('LDM_PASSWORD is not UTF-8', { hint: 'Put the password in a file: see --password-file.' });
}

/** A service may have other credentials only. */
function fromCredential(directory: string | undefined): PasswordOrigin | undefined {
  const path = directory === undefined || directory === '' ? undefined : join(directory, CREDENTIAL);
  return path === undefined || !existsSync(path) ? undefined : { kind: 'credential', path };
}

function variable(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = environment[name];
  if (value === '') throw new UsageError(`${name} is empty`, { hint: WANTED });
  return value;
}

/** What origins have given: a pipe can be read only once. While passwords are kept, by what names the origin. */
const given = new Map<unknown, Promise<Buffer>>();
let isKept = false;

function nameOf(origin: PasswordOrigin): string {
  // The environment does not change, and a password must not be copied.
  return origin.kind === 'variable' ? origin.kind : JSON.stringify(origin);
}

/** Overwrites what origins have given, unless a command keeps it for further commands. */
export async function wipePasswords(): Promise<void> {
  if (isKept) return;
  const read = [...given.values()];
  given.clear();
  for (const reading of read) (await reading.catch(() => undefined))?.fill(0);
}

/** Asks for each password only once during the work, although that runs several commands. */
export async function keepPasswords<T>(work: () => Promise<T>): Promise<T> {
  isKept = true;
  try {
    return await work();
  } finally {
    isKept = false;
    await wipePasswords();
  }
}

async function readOnce(name: unknown, read: () => Promise<Buffer>): Promise<Buffer> {
  const reading = given.get(name) ?? read();
  given.set(name, reading);
  return Buffer.from(await reading);
}

/** `origin`: undefined to ask on the terminal. */
export function createPasswordSource(
  origin: PasswordOrigin | undefined,
  questions: PasswordQuestions,
  surroundings: PasswordSurroundings,
  isForThisRepository = false,
): PasswordSource {
  const read = async (ask: (prompt: typeof TerminalPrompt) => Promise<Buffer>): Promise<Buffer> => {
    if (origin !== undefined)
      return await readOnce(isKept ? nameOf(origin) : origin, async () => readOrigin(origin, surroundings));
    const prompt = await loadPrompt(questions);
    return await surroundings.withoutStatus(async () => ask(prompt));
  };
  const { signal } = surroundings;
  return {
    isConfigured: origin !== undefined,
    meansEncryption: true,
    isForThisRepository,
    read: async () =>
      read(async ({ askPassword }) => {
        const asking = async (): Promise<Buffer> => askPassword(questions.current, signal);
        return await (isKept ? readOnce(`terminal: ${questions.current}`, asking) : asking());
      }),
    readNew: async () => read(async ({ askNewPassword }) => askNewPassword(questions.new, signal)),
  };
}

/** Without a terminal there is no answer, so this fails instead of waiting. */
async function loadPrompt({ advice }: PasswordQuestions): Promise<typeof TerminalPrompt> {
  const prompt = await import('./terminal-prompt.ts');
  if (prompt.isTerminal()) return prompt;
  const wanted = advice === 'give-new-password' ? 'a new password' : 'a password';
  throw new NoPasswordError(`${wanted} is needed, and there is no terminal to ask on`, { advice: { code: advice } });
}

async function readOrigin(origin: PasswordOrigin, surroundings: PasswordSurroundings): Promise<Buffer> {
  const { environment, signal, warn, withoutStatus } = surroundings;
  switch (origin.kind) {
    case 'command': {
      const { runPasswordCommand } = await import('./password-command.ts');
      // It may ask on the terminal.
      return await withoutStatus(async () => runPasswordCommand(origin.words, { environment, signal }));
    }
    case 'variable': {
      const { checkedPassword } = await import('./checked-password.ts');
      return checkedPassword(Buffer.from(origin.password), 'LDM_PASSWORD');
    }
    default: {
      const { readPasswordFile } = await import('./password-file.ts');
      return await readPasswordFile(origin.path, { signal, warn: origin.kind === 'file' ? warn : () => undefined });
    }
  }
}
