import { SourceError, UsageError } from '../../core/errors.ts';
import { reasonOf } from '../../core/files/paths/path-failures.ts';
import { utf8Of } from '../../core/files/paths/text-file.ts';
import type { ListedSources } from '../../core/files/source/source-roots.ts';
import { byteStringFromBytes, bytesOf, byteStringOf } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { expandHome } from '../../console/input/paths.ts';
import { pathInput } from '../../console/input/raw-arguments.ts';
import { openReadable, readAll } from '../../console/input/readable-file.ts';
import { openStandardInput } from '../../console/input/standard-input.ts';
import { throwIfAborted } from '../../core/util/cancellation.ts';

/** The options with lists of files. */
export interface FileListFlags {
  readonly filesFrom?: readonly string[];
  readonly filesFromVerbatim?: readonly string[];
  readonly filesFromRaw?: readonly string[];
}

const STANDARD_INPUT = '-';
const OUTER_SPACE = /^[\t\v\f\r ]+|[\t\v\f\r ]+$/g;

/**
 * Reads the lists. Names are bytes.
 * @throws UsageError if a list cannot be read, or is no text
 * @throws SourceError if the lists are empty or a list with NUL bytes is incomplete
 */
export async function readFileLists(flags: FileListFlags, signal: AbortSignal): Promise<Required<ListedSources>> {
  const { filesFrom = [], filesFromVerbatim = [], filesFromRaw = [] } = flags;
  if ([...filesFrom, ...filesFromVerbatim, ...filesFromRaw].filter((file) => file === STANDARD_INPUT).length > 1) {
    throw new UsageError('standard input can be read as one list only');
  }
  const patterns: Buffer[] = [];
  const paths: Buffer[] = [];
  for (const file of filesFrom) {
    for (const line of linesOf(await readList(file, signal), file)) {
      const pattern = line.replaceAll(OUTER_SPACE, '') as ByteString;
      if (pattern !== '' && !pattern.startsWith('#')) patterns.push(bytesOf(pattern));
    }
  }
  for (const file of filesFromVerbatim) {
    for (const line of linesOf(await readList(file, signal), file))
      if (line !== '') paths.push(bytesOf(line as ByteString));
  }
  for (const file of filesFromRaw) for (const name of rawNames(await readList(file, signal), file)) paths.push(name);
  if (patterns.length + paths.length === 0) throw new SourceError('nothing to back up: the lists of files are empty');
  return { patterns, paths };
}

/** As restic, takes a carriage return for a part of the end of the line. */
function linesOf(text: ByteString, file: string): string[] {
  return byteStringFromBytes(utf8Of(bytesOf(text), nameOf(file))).split(/\r?\n/);
}

function rawNames(text: ByteString, file: string): Buffer[] {
  if (text === '') return [];
  if (!text.endsWith('\0')) {
    throw new SourceError(`${nameOf(file)} does not end with a NUL byte, so it is incomplete`);
  }
  const names = text.slice(0, -1).split('\0') as ByteString[];
  if (names.includes('' as ByteString)) throw new SourceError(`${nameOf(file)} contains an empty name`);
  return names.map((name) => bytesOf(name));
}

function nameOf(file: string): string {
  return file === STANDARD_INPUT ? 'the list on standard input' : `the list ${file}`;
}

async function readList(file: string, signal: AbortSignal): Promise<ByteString> {
  if (file === STANDARD_INPUT) return byteStringFromBytes(await readAll(openStandardInput(), signal));
  try {
    const opened = openReadable(byteStringOf(pathInput(expandHome(file))));
    if (opened !== undefined) return byteStringFromBytes(await readAll(opened, signal));
  } catch (cause) {
    throwIfAborted(signal);
    if (cause instanceof UsageError) throw cause;
    throw new UsageError(`cannot read the list of files ${file}: ${reasonOf(cause)}`, { cause });
  }
  throw new UsageError(`cannot read the list of files ${file}: it is a directory`);
}
