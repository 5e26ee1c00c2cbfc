import type { EntryType, TreeEntry } from '../../core/format/tree/tree-entry.ts';
import { displayPath } from '../output/display-path.ts';
import type { ListedEntry } from '../../core/snapshots/snapshot-reader.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { Output } from '../output/output.ts';
import { OutputClosedError } from '../output/output.ts';
import { byteFields, pathFields } from '../output/byte-fields.ts';
import { formatTime } from '../output/words.ts';
import { snapshotFields } from './snapshot-fields.ts';

const TYPE_LETTERS: Readonly<Record<EntryType, string>> = {
  file: '-',
  directory: 'd',
  symlink: 'l',
  fifo: 'p',
  'character-device': 'c',
  'block-device': 'b',
  socket: 's',
};

/** Names of types in restic that differ from ours. */
const TYPE_WORDS: Partial<Readonly<Record<EntryType, string>>> = {
  directory: 'dir',
  'character-device': 'chardev',
  'block-device': 'dev',
};

interface Listing {
  readonly begin: (listing: SnapshotListing) => void;
  readonly visit: (listed: ListedEntry) => void;
}

/** Reports `ls`. With `--json`, the snapshot comes first, then each entry as soon as it is known. */
export function createListing(output: Output, long: boolean): Listing {
  return {
    begin: (listing) => output.message('snapshot', snapshotFields(listing)),
    visit: ({ path, entry }) => {
      if (output.failure !== undefined) throw new OutputClosedError();
      if (output.json) output.message('node', nodeFields(path, entry));
      else output.line(long ? formatLongLine(path, entry) : displayPath(path));
    },
  };
}

/** Returns an entry as JSON fields with the names that restic uses. */
export function nodeFields(path: ByteString, entry: TreeEntry): Record<string, unknown> {
  return {
    ...byteFields('name', entry.name),
    type: TYPE_WORDS[entry.type] ?? entry.type,
    ...pathFields(path),
    uid: entry.uid,
    gid: entry.gid,
    ...(entry.user === '' ? {} : byteFields('user', entry.user)),
    ...(entry.group === '' ? {} : byteFields('group', entry.group)),
    ...(entry.type === 'file' ? { size: entry.sizeBytes } : {}),
    mode: entry.mode,
    permissions: formatPermissions(entry),
    mtime: formatNanosecondTime(entry.mtimeSeconds, entry.mtimeNanoseconds),
    ctime: formatNanosecondTime(entry.ctimeSeconds, entry.ctimeNanoseconds),
    inode: inodeField(entry.inode),
    ...(entry.type === 'symlink' ? byteFields('linktarget', entry.linkTarget) : {}),
    ...(entry.changedWhileRead ? { changed_while_read: true } : {}),
  };
}

/** JSON numbers are exact only up to 2^53. Larger ones become strings. */
function inodeField(inode: bigint): number | string {
  return inode <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(inode) : String(inode);
}

/** Formats an entry like `ls -l`. */
export function formatLongLine(path: ByteString, entry: TreeEntry): string {
  const user = entry.user === '' ? String(entry.uid) : displayPath(entry.user);
  const group = entry.group === '' ? String(entry.gid) : displayPath(entry.group);
  const owner = `${user.padEnd(8)} ${group.padEnd(8)}`;
  const target = entry.type === 'symlink' ? ` -> ${displayPath(entry.linkTarget)}` : '';
  const time = formatEntryTime(entry);
  return `${formatPermissions(entry)} ${owner} ${sizeColumn(entry).padStart(12)} ${time} ${displayPath(path)}${target}`;
}

/** Formats the time of an entry in the local time zone; beyond the range of dates as seconds, such as `@9000000000000`. */
export function formatEntryTime({ mtimeSeconds }: Pick<TreeEntry, 'mtimeSeconds'>): string {
  const date = new Date(mtimeSeconds * 1000);
  return Number.isNaN(date.getTime()) ? `@${mtimeSeconds}` : formatTime(date.toISOString());
}

function sizeColumn(entry: TreeEntry): string {
  if (entry.type === 'character-device' || entry.type === 'block-device')
    return `${entry.deviceMajor}, ${entry.deviceMinor}`;
  return String(entry.sizeBytes);
}

/** Formats permissions like `ls -l`: `drwxr-xr-x`, with s, S, t and T for the special bits. */
export function formatPermissions({ type, mode }: Pick<TreeEntry, 'type' | 'mode'>): string {
  const triplet = (shift: number, special: boolean, letter: string): string => {
    const bits = mode >> shift;
    const execute = (bits & 1) === 1;
    const last = special ? (execute ? letter : letter.toUpperCase()) : execute ? 'x' : '-';
    return `${(bits & 4) === 0 ? '-' : 'r'}${(bits & 2) === 0 ? '-' : 'w'}${last}`;
  };
  return `${TYPE_LETTERS[type]}${triplet(6, (mode & 0o4000) !== 0, 's')}${triplet(3, (mode & 0o2000) !== 0, 's')}${triplet(0, (mode & 0o1000) !== 0, 't')}`;
}

/** RFC 3339 in UTC with nanoseconds. A time outside the range of dates is printed as seconds. */
export function formatNanosecondTime(seconds: number, nanoseconds: number): string {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return `${seconds}.${String(nanoseconds).padStart(9, '0')}`;
  return `${date.toISOString().slice(0, -5)}.${String(nanoseconds).padStart(9, '0')}Z`;
}
