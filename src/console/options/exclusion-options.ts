import type { Command } from 'commander';
import type { ExclusionOptions } from '../../core/sources/exclusion.ts';
import { omitUndefined } from './omit-undefined.ts';
import { collect, sizeValue } from './option-values.ts';
import { PATTERN_FILES_HELP, addPatternOptions, readPatterns } from './pattern-options.ts';
import type { PatternFlags } from './pattern-options.ts';

/** The options that say what a backup leaves out. */
export interface ExclusionFlags extends PatternFlags {
  readonly excludeCaches?: boolean;
  readonly excludeIfPresent?: readonly string[];
  readonly excludeLargerThan?: number;
  readonly excludeNodump?: boolean;
  readonly excludeIfXattr?: readonly string[];
  readonly oneFileSystem?: boolean;
  readonly ignoreFiles: boolean;
  readonly gitIgnore?: boolean;
}

export const EXCLUSION_HELP: string = `
Patterns:
  cache, *.log, data/tmp   match at any depth; * and ? stop at a slash, [a-z] is one character
  /home/me/data/tmp        with a leading slash: this path
  data/**/tmp              ** matches any number of directories
  !keep.log                exception: is saved, unless a directory above it is excluded; the last match decides
Paths given as arguments are never excluded. Patterns have the same meaning as in restic.${PATTERN_FILES_HELP}

Ignore files:
  A file .ldmignore in a directory that is backed up has the syntax and the meaning of .gitignore: its patterns count
  from its directory down. --git-ignore leaves out what git would ignore, in work trees of git only; an exception in
  .ldmignore overrides that. Files that are tracked although .gitignore lists them are left out too.`;

export function addExclusionOptions(command: Command): Command {
  return addPatternOptions(command, 'exclude', 'exclude what matches')
    .option('--exclude-caches', 'exclude what is in directories with a cache tag (CACHEDIR.TAG), except for the tag')
    .option(
      '--exclude-if-present <name[:header]>',
      'exclude what is in directories with a file of this name (that begins with the header), except for this file; may be repeated',
      collect,
    )
    .option('--exclude-larger-than <size>', 'exclude larger files: 10M, 1.5GiB', sizeValue)
    .option('--exclude-nodump', 'exclude what has the flag of chattr +d, directories with all that is in them')
    .option(
      '--exclude-if-xattr <name[=value]>',
      'exclude what has this extended attribute, directories with all that is in them; user.xdg.robots.backup counts if it is false; may be repeated',
      collect,
    )
    .option(
      '-x, --one-file-system',
      'stay in the file system of each path; mount points are saved as empty directories',
    )
    .option('--no-ignore-files', 'do not read .ldmignore (see Ignore files)')
    .option('--git-ignore', 'exclude what git ignores (see Ignore files)');
}

/** Reads the files with patterns. Throws UsageError. */
export async function readExclusionOptions(flags: ExclusionFlags): Promise<ExclusionOptions> {
  const { exact: exclude, ignoringCase: iexclude } = await readPatterns(flags, 'exclude');
  const { excludeCaches, excludeIfPresent, excludeLargerThan, excludeNodump, excludeIfXattr } = flags;
  const { oneFileSystem, ignoreFiles, gitIgnore } = flags;
  const marks = { excludeCaches, excludeIfPresent, excludeLargerThan, excludeNodump, excludeIfXattr };
  return omitUndefined({ exclude, iexclude, ignoreFiles, oneFileSystem, gitIgnore, ...marks });
}
