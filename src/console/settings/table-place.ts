import { UsageError } from '../../core/errors.ts';
import type { ConfigFile } from './config-file.ts';

/** Where a table of the configuration file is, for messages. */
export interface TablePlace {
  readonly config: ConfigFile;
  /** The keys of the table, from the top of the file or of a merged profile. */
  readonly keys: readonly string[];
  /** Returns where the value of a merged profile was written, from the top of the file. */
  readonly originOf?: (keys: readonly string[]) => readonly string[];
  /** The name of a merged profile. */
  readonly profile?: string;
}

export function placeBelow(place: TablePlace, key: string): TablePlace {
  return { ...place, keys: [...place.keys, key] };
}

/** The table of the profile that a place is in: `profiles.home`, or `defaults`. */
export function profileTableOf({ keys: [top, name], profile }: TablePlace): string {
  if (top === 'profiles' && name !== undefined) return `profiles.${name}`;
  return top === 'defaults' || profile === undefined ? 'defaults' : `profiles.${profile}`;
}

/** Returns an error such as `config.toml:5: [profiles.home.backup] excldue is not an option`. */
export function fault({ config, keys, originOf }: TablePlace, key: string, problem: string, hint?: string): UsageError {
  const written = originOf?.([...keys, key]) ?? [...keys, key];
  const line = config.lineOf(written) ?? config.lineOf(written.slice(0, -1)) ?? 1;
  const table = written.slice(0, -1).join('.');
  const what = written.length === 1 ? `[${key}]` : `[${table}] ${key}`;
  return new UsageError(`${config.path}:${line}: ${what} ${problem}`, { hint });
}
