import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { replaceFile } from '../../core/files/target/replace-file.ts';
import { byteStringFromText } from '../../core/util/byte-string.ts';
import { makeDirectories } from '../../core/util/make-directories.ts';
import { type ConfigFile, parseConfig, readConfigFile } from '../../console/settings/config-file.ts';
import { configPath } from '../../console/settings/directories.ts';
import { findFaults, profileOf } from '../../console/settings/profile.ts';

/** What a profile says. */
export interface ProfileContent {
  readonly repo: string;
  readonly passwordFile?: string | undefined;
  readonly passwordCommand?: string | undefined;
  readonly paths: readonly string[];
  readonly schedule: string | undefined;
  /** Conditions of a run. */
  readonly onlyIf: readonly string[];
}

/** Returns the tables of a profile as TOML, whose basic strings have the escapes of JSON. */
export function profileText(name: string, content: ProfileContent): string {
  const { repo, passwordFile, passwordCommand, paths, schedule, onlyIf } = content;
  const value = (key: string, text: string | undefined): string[] =>
    text === undefined ? [] : [`${key} = ${JSON.stringify(text)}`];
  const list = (texts: readonly string[]): string => `[${texts.map((text) => JSON.stringify(text)).join(', ')}]`;
  const run = [...value('schedule', schedule), ...(onlyIf.length === 0 ? [] : [`only-if = ${list(onlyIf)}`])];
  return [
    `[profiles.${name}]`,
    ...value('repo', repo),
    ...value('password-file', passwordFile),
    ...value('password-command', passwordCommand),
    '',
    `[profiles.${name}.backup]`,
    `paths = ${list(paths)}`,
    ...(run.length === 0 ? [] : ['', `[profiles.${name}.run]`, ...run]),
    '',
  ].join('\n');
}

/** @throws UsageError if there is no home directory */
export function requiredConfigPath(): string {
  const path = configPath(process.env);
  if (path !== undefined) return path;
  throw new UsageError('there is no home directory for a configuration file', { hint: 'Set HOME.' });
}

/**
 * Reads the configuration file; undefined if there is none.
 * @throws UsageError if it has a fault
 */
export async function readSoundConfig(program: Command): Promise<ConfigFile | undefined> {
  const config = await readConfigFile(requiredConfigPath());
  const [fault] = config === undefined ? [] : findFaults(config, program);
  if (fault === undefined) return config;
  throw new UsageError(fault.error.message, { hint: 'Correct it first: `ldm config check` prints all faults.' });
}

/**
 * Adds a profile at the end of the configuration file, if the file is sound with it. All that was there stays as it was.
 * @throws UsageError if the file would have a fault
 */
export async function addProfile(name: string, content: ProfileContent, program: Command): Promise<void> {
  const path = requiredConfigPath();
  const text = await extendedText(path, name, content, program);
  makeDirectories(dirname(path), { mode: 0o700 });
  const mode = existsSync(path) ? statSync(path).mode & 0o777 : 0o600;
  replaceFile(byteStringFromText(path), Buffer.from(text), mode);
}

/** @throws UsageError if the file would have a fault with the profile */
export async function assertAddable(name: string, content: ProfileContent, program: Command): Promise<void> {
  await extendedText(requiredConfigPath(), name, content, program);
}

async function extendedText(path: string, name: string, content: ProfileContent, program: Command): Promise<string> {
  const before = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const gap = before === '' ? '' : before.endsWith('\n') ? '\n' : '\n\n';
  const text = before + gap + profileText(name, content);
  const config = await parseConfig(path, text).catch((error: unknown) => {
    throw error instanceof UsageError ? cannotAdd(name, error.message) : error;
  });
  const [fault] = findFaults(config, program);
  if (fault !== undefined) throw cannotAdd(name, fault.error.message);
  const { options } = profileOf(config, name, program).table;
  // `[defaults]` may contradict what the user has answered.
  if (options['encryption'] === false) throw cannotAdd(name, '[defaults] has no-encryption');
  return text;
}

function cannotAdd(name: string, reason: string): UsageError {
  return new UsageError(`the profile ${name} cannot be added: ${reason}`, {
    hint: 'Nothing was changed. Write the profile with `ldm config edit`.',
  });
}
