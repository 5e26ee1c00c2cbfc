import { UsageError } from '../../core/errors.ts';
import { type ConfigFile, type Table, isTable } from './config-file.ts';

/** A profile with everything that it inherits. */
interface MergedProfile {
  readonly table: Table;
  /** The names of the profiles that it consists of: those that it inherits, then itself. */
  readonly chain: readonly string[];
  /** Returns where a value comes from. `keys`: below the profile. */
  readonly originOf: (keys: readonly string[]) => readonly string[];
}

/**
 * Merges `[defaults]`, the profiles in `inherit` in their order, and the profile itself. Tables are merged; any other
 * value replaces the one before.
 * @throws UsageError for a profile that inherits itself, or one that does not exist
 */
export function mergeProfile(config: ConfigFile, name: string): MergedProfile {
  const chain: string[] = [];
  collect(config, name, chain, []);
  const sources = [['defaults'], ...chain.map((each) => ['profiles', each])];
  const origins = new Map<string, readonly string[]>();
  let table: Table = {};
  for (const keys of sources) {
    const own = keys.length === 1 ? config.defaults : config.profiles[keys[1]!];
    if (isTable(own)) table = merge(table, own, { keys, below: [], origins });
  }
  const { inherit: _inherit, ...rest } = table;
  return { table: rest, chain, originOf: (keys) => origins.get(JSON.stringify(keys)) ?? ['profiles', name, ...keys] };
}

function collect(config: ConfigFile, name: string, chain: string[], above: readonly string[]): void {
  const keys = ['profiles', name, 'inherit'];
  if (above.includes(name))
    throw inheritFault(config, ['profiles', above.at(-1)!, 'inherit'], `is a circle: ${[...above, name].join(' -> ')}`);
  const own = config.profiles[name];
  const inherited = isTable(own) ? (own['inherit'] ?? []) : [];
  for (const each of Array.isArray(inherited) ? (inherited as unknown[]) : [inherited]) {
    if (typeof each !== 'string') throw inheritFault(config, keys, 'must be a list of names of profiles');
    if (!Object.hasOwn(config.profiles, each))
      throw inheritFault(config, keys, `names ${each}, which is not a profile`);
    collect(config, each, chain, [...above, name]);
  }
  const before = chain.indexOf(name);
  if (before >= 0) chain.splice(before, 1);
  chain.push(name);
}

function inheritFault(config: ConfigFile, keys: readonly string[], problem: string): UsageError {
  const [, name] = keys;
  return new UsageError(`${config.path}:${config.lineOf(keys) ?? 1}: [profiles.${name}] inherit ${problem}`);
}

interface Merging {
  /** Where the second table is. */
  readonly keys: readonly string[];
  readonly below: readonly string[];
  readonly origins: Map<string, readonly string[]>;
}

function merge(first: Table, second: Table, { keys, below, origins }: Merging): Table {
  const merged: Record<string, unknown> = Object.assign(Object.create(null), first);
  for (const [key, value] of Object.entries(second)) {
    const here = { keys: [...keys, key], below: [...below, key], origins };
    origins.set(JSON.stringify(here.below), here.keys);
    const before = merged[key];
    merged[key] = isTable(value) ? merge(isTable(before) ? before : {}, value, here) : value;
  }
  return merged;
}
