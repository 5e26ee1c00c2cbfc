import { isAbsolute } from 'node:path';
import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { currentDirectory } from '../../core/files/paths/current-directory.ts';
import type { BackupOptions } from './backup.ts';
import { bytesOf } from '../../core/util/byte-string.ts';
import type { PathInput } from '../../core/util/byte-string.ts';
import type { FileListFlags } from './file-lists.ts';
import { collect, textValue } from '../../console/options/option-values.ts';
import { pathInput, pathInputs } from '../../console/input/raw-arguments.ts';

/** The options that say what is backed up, besides the arguments. */
export interface SourceFlags extends FileListFlags {
  readonly stdinName?: string;
  readonly stdinFromCommand?: boolean;
}

/** restic's name for a stream without a name. */
const DEFAULT_NAME = 'stdin';

export const SOURCE_HELP = `
File lists:
  The file - is standard input: \`find . -newer stamp -print0 | ldm backup --files-from-raw -\`.
  Relative paths start at the current directory. --files-from ignores white space around a line, empty lines and lines
  that begin with #. Symlinks in a list are saved as such. A list is UTF-8 or any bytes, or UTF-16
  with a byte order mark. All lists and arguments together are one snapshot.

Standard input:
  --stdin-name saves standard input as a file of this name. The exit code of a command before a pipe is lost, so prefer
  --stdin-from-command, with the command after --: if it fails, no snapshot is made.`;

export function addSourceOptions(command: Command): Command {
  return command
    .option('--files-from <file>', 'save also the paths and patterns in a file, one per line (see File lists)', collect)
    .option('--files-from-verbatim <file>', 'the same for paths with any characters, one per line', collect)
    .option('--files-from-raw <file>', 'the same for paths that each end with a NUL byte', collect)
    .option('--stdin-name <name>', 'save standard input, or the output of a command, as a file of this name', textValue)
    .option('--stdin-from-command', 'save what the command after -- prints, if it succeeds (default name: stdin)');
}

/** Returns what to back up. Throws UsageError. */
export async function readSources(
  words: readonly string[],
  flags: SourceFlags,
  signal: AbortSignal,
): Promise<Pick<BackupOptions, 'sources' | 'cwd' | 'stream' | 'listed'>> {
  const { stdinName, stdinFromCommand = false } = flags;
  const { filesFrom = [], filesFromVerbatim = [], filesFromRaw = [] } = flags;
  const hasLists = filesFrom.length + filesFromVerbatim.length + filesFromRaw.length > 0;
  if (stdinName === undefined && !stdinFromCommand) {
    const given = { sources: pathInputs(words), cwd: startDirectory(words) };
    if (hasLists) return { ...given, listed: await (await import('./file-lists.ts')).readFileLists(flags, signal) };
    if (words.length === 0) throw new UsageError('no paths given', { advice: { code: 'name-sources' } });
    return given;
  }
  if (hasLists) {
    const stream = stdinFromCommand ? '--stdin-from-command' : '--stdin-name';
    throw new UsageError(`--files-from and ${stream} cannot be combined`);
  }
  const { commandOutput, standardInput } = await import('./stream-input.ts');
  const path = pathInput(stdinName ?? DEFAULT_NAME);
  if (stdinFromCommand) {
    if (words.length === 0) {
      throw new UsageError('no command given', { hint: 'Give it after --, such as -- pg_dump mydatabase.' });
    }
    return { sources: [], cwd: '/', stream: { path, content: commandOutput(words, signal) } };
  }
  if (words.length > 0) {
    throw new UsageError('--stdin-name and paths cannot be combined', {
      hint: 'To save the output of a command, add --stdin-from-command before the --.',
    });
  }
  return { sources: [], cwd: '/', stream: { path, content: standardInput() } };
}

/** Returns the current directory. If it was deleted, absolute paths must still work, but fast-glob always needs one. */
function startDirectory(paths: readonly string[]): PathInput {
  try {
    return bytesOf(currentDirectory());
  } catch (error) {
    if (!paths.every((path) => isAbsolute(path))) throw error;
    process.chdir('/');
    return '/';
  }
}
