import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';
import { omitUndefined } from './omit-undefined.ts';
import { collect, collectTags } from './option-values.ts';
import { comparedTimeValue } from './span-values.ts';

/** The options that select snapshots. */
export interface SnapshotFilterFlags {
  readonly host?: readonly string[];
  readonly path?: readonly string[];
  readonly tag?: readonly (readonly string[])[];
  readonly since?: string;
  readonly before?: string;
}

export function addSnapshotFilters(command: Command): Command {
  return command
    .option('-H, --host <name>', 'only snapshots of this host; if repeated, of any of them', collect)
    .option('--path <path>', 'only snapshots of this path; if repeated, of all of them', collect)
    .option(
      '--tag <tags>',
      'only snapshots with this tag, or with all of a,b; if repeated, with any of them',
      collectTags,
    )
    .option(
      '--since <time>',
      'only snapshots made at this time or later, such as 7d (ago), 2w, yesterday or 2026-01-31',
      comparedTimeValue,
    )
    .option('--before <time>', 'only snapshots made before this time', comparedTimeValue);
}

export function snapshotFilterOf({ host: hosts, path, tag: tags, since, before }: SnapshotFilterFlags): SnapshotFilter {
  return omitUndefined({ hosts, paths: path?.map((each) => resolve(each)), tags, since, before });
}
