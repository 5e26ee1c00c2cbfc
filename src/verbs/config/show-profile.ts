import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { isTable } from '../../console/settings/config-file.ts';
import { configPath } from '../../console/settings/directories.ts';
import { type GlobalOptions, readVariable } from '../../console/settings/environment.ts';
import { mergeProfile } from '../../console/settings/profile-inheritance.ts';
import { profileOf } from '../../console/settings/profile.ts';
import { requireConfig } from './check-config.ts';

interface Asked {
  /** Undefined for the profile that every command would use. */
  readonly name: string | undefined;
  readonly given: GlobalOptions;
  readonly program: Command;
}

/** A value of a merged profile. */
interface MergedValue {
  readonly keys: readonly string[];
  readonly value: unknown;
}

/** @throws UsageError for a profile that does not exist or has a fault */
export async function showProfile(output: Output, { name, given, program }: Asked): Promise<void> {
  const config = await requireConfig();
  const usual = given.profile ?? readVariable(process.env, 'LDM_PROFILE', { parse: (text) => text, wanted: 'a name' });
  const profile = profileOf(config, name ?? usual ?? 'default', program);
  const { table, originOf } = mergeProfile(config, profile.name);
  const values = valuesOf(table, []);
  const rows = values.map(({ keys, value }) => {
    const origin = originOf(keys);
    const line = config.lineOf(origin);
    const from = origin.slice(0, origin[0] === 'profiles' ? 2 : 1).join('.');
    output.message('config_value', { profile: profile.name, keys, value, origin: from, line });
    return [`${keys.map(bareOrQuoted).join('.')} = ${tomlOf(value)}`, `# line ${line ?? '?'}, [${from}]`];
  });
  output.line(`[profiles.${bareOrQuoted(profile.name)}]`);
  output.line(formatTable(rows.map((row) => row.map((cell) => escapeForTerminal(cell)))));
}

export function printPath(output: Output): void {
  const path = configPath(process.env);
  if (path === undefined)
    throw new UsageError('there is no home directory for a configuration file', { hint: 'Set HOME.' });
  output.message('config_path', { path, exists: existsSync(path) });
  output.line(path);
}

function valuesOf(table: Readonly<Record<string, unknown>>, above: readonly string[]): MergedValue[] {
  return Object.entries(table).flatMap(([key, value]) => {
    const keys = [...above, key];
    return isTable(value) && Object.keys(value).length > 0 ? valuesOf(value, keys) : [{ keys, value }];
  });
}

function bareOrQuoted(key: string): string {
  return /^[\w-]+$/.test(key) ? key : JSON.stringify(key);
}

/** JSON is TOML, but for dates and tables. */
function tomlOf(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return `[${(value as unknown[]).map(tomlOf).join(', ')}]`;
  if (!isTable(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, inner]) => ` ${bareOrQuoted(key)} = ${tomlOf(inner)}`)
    .join(',')} }`;
}
