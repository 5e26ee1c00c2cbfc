import { bufferOver } from '../byte-reader.ts';
import { ByteWriter } from '../byte-writer.ts';
import { EXTENSION_ACCESS_TIME, TREE_ACCESS_TIME_BYTES } from '../constants.ts';
import type { EntryExtension, TreeEntry } from './tree-entry.ts';
import { readSeconds } from './tree-numbers.ts';

/** When a file was last read, in the form of the system: the nanoseconds are added to the seconds, also before 1970. */
export interface AccessTime {
  readonly seconds: number;
  readonly nanoseconds: number;
}

const MAX_NANOSECONDS = 999_999_999;
const NO_EXTENSIONS: readonly EntryExtension[] = [];

/** Returns the extensions of a new entry. `time`: undefined if it is not recorded. */
export function accessTimeExtensions(time: AccessTime | undefined): readonly EntryExtension[] {
  if (time === undefined) return NO_EXTENSIONS;
  const writer = new ByteWriter(TREE_ACCESS_TIME_BYTES);
  writer.i64(time.seconds);
  writer.u32(time.nanoseconds);
  return [{ type: EXTENSION_ACCESS_TIME, bytes: writer.finish() }];
}

/** Returns the access time of an entry; undefined if it has none, or an invalid one. */
export function accessTimeOf({ extensions }: Pick<TreeEntry, 'extensions'>): AccessTime | undefined {
  const found = extensions.find(({ type }) => type === EXTENSION_ACCESS_TIME);
  if (found?.bytes.length !== TREE_ACCESS_TIME_BYTES) return undefined;
  const bytes = bufferOver(found.bytes);
  const [seconds, nanoseconds] = [readSeconds(bytes, 0), bytes.readUInt32LE(8)];
  return Number.isSafeInteger(seconds) && nanoseconds <= MAX_NANOSECONDS ? { seconds, nanoseconds } : undefined;
}
