import { createHash } from 'node:crypto';
import { type BigIntStats, closeSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';

/** What a backup must bring back of one entry. Values are strings so that a difference prints as it is. */
export interface TreeEntry {
  readonly type: string;
  readonly mode: string;
  readonly uid: string;
  readonly gid: string;
  readonly mtimeNs: string;
  readonly size: string;
  readonly content: string;
  readonly linkTarget: string;
  /** The first path, in byte order, of those that share the inode; empty for a file with one name. */
  readonly hardlinkGroup: string;
  readonly rdev: string;
}

export interface DiffTreesOptions {
  readonly ignore?: readonly (keyof TreeEntry)[];
  /** Leaves out the entry '' that stands for the compared directory itself. */
  readonly ignoreRoot?: boolean;
  readonly differenceCountMax?: number;
}

const emptyPath = '';
const buffer = Buffer.alloc(1 << 20);

/**
 * Describes every entry below `directory`, and the directory itself as ''. Paths are relative byte strings (latin1), as
 * values of each entry are JSON texts of `TreeEntry`, so that two descriptions can be compared with `toEqual`.
 */
export function describeTree(directory: string): Map<string, string> {
  const root = Buffer.from(directory);
  const entries = new Map<string, TreeEntry>();
  const firstPaths = new Map<string, string>();
  const contents = new Map<string, string>();
  const pending: string[] = [emptyPath];
  while (pending.length > 0) {
    const path = pending.pop()!;
    const location = path === emptyPath ? root : Buffer.concat([root, Buffer.from(`/${path}`, 'latin1')]);
    const stats = lstatSync(location, { bigint: true });
    if (stats.nlink > 1n && !stats.isDirectory()) {
      const inode = `${stats.dev}:${stats.ino}`;
      const firstPath = firstPaths.get(inode);
      if (firstPath === undefined || path < firstPath) firstPaths.set(inode, path);
    }
    entries.set(path, describeEntry(location, stats, contents));
    if (!stats.isDirectory()) continue;
    for (const name of readdirSync(location, { encoding: 'buffer' })) {
      pending.push(path === emptyPath ? name.toString('latin1') : `${path}/${name.toString('latin1')}`);
    }
  }
  return formatEntries(entries, firstPaths);
}

/** Lists what differs, one sentence each; empty when the trees are equal. Accepts directories or their descriptions. */
export function diffTrees(
  expected: string | ReadonlyMap<string, string>,
  actual: string | ReadonlyMap<string, string>,
  options: DiffTreesOptions = {},
): string[] {
  const left = typeof expected === 'string' ? describeTree(expected) : expected;
  const right = typeof actual === 'string' ? describeTree(actual) : actual;
  const differences: string[] = [];
  for (const path of [...new Set([...left.keys(), ...right.keys()])].sort()) {
    if (path === emptyPath && options.ignoreRoot === true) continue;
    const [before, after] = [left.get(path), right.get(path)];
    if (before === after) continue;
    const name = JSON.stringify(path);
    if (before === undefined) differences.push(`${name} should not be there`);
    else if (after === undefined) differences.push(`${name} is missing`);
    else differences.push(...diffEntries({ name, before, after, ignore: options.ignore ?? [] }));
  }
  return differences.slice(0, options.differenceCountMax ?? 50);
}

function diffEntries(options: {
  name: string;
  before: string;
  after: string;
  ignore: readonly (keyof TreeEntry)[];
}): string[] {
  const before = JSON.parse(options.before) as TreeEntry;
  const after = JSON.parse(options.after) as TreeEntry;
  return (Object.keys(before) as (keyof TreeEntry)[])
    .filter((field) => !options.ignore.includes(field) && before[field] !== after[field])
    .map((field) => `${options.name}: ${field} is ${after[field]}, expected ${before[field]}`);
}

/** `contents`: of the files with several names so far. */
function describeEntry(location: Buffer, stats: BigIntStats, contents: Map<string, string>): TreeEntry {
  const isDevice = stats.isBlockDevice() || stats.isCharacterDevice();
  return {
    type: typeOf(stats),
    mode: (stats.mode & 0o7777n).toString(8),
    uid: String(stats.uid),
    gid: String(stats.gid),
    mtimeNs: String(stats.mtimeNs),
    // The size of a directory is the file system's business.
    size: stats.isFile() ? String(stats.size) : '',
    content: stats.isFile() ? contentOf(location, stats, contents) : '',
    linkTarget: stats.isSymbolicLink() ? readlinkSync(location, { encoding: 'buffer' }).toString('latin1') : '',
    hardlinkGroup: stats.nlink > 1n && !stats.isDirectory() ? `${stats.dev}:${stats.ino}` : '',
    rdev: isDevice ? String(stats.rdev) : '',
  };
}

/** Inode numbers mean nothing in another tree: each group is named by its first path, and a group of one is none. */
function formatEntries(
  entries: ReadonlyMap<string, TreeEntry>,
  firstPaths: ReadonlyMap<string, string>,
): Map<string, string> {
  const memberCounts = new Map<string, number>();
  for (const { hardlinkGroup } of entries.values()) {
    memberCounts.set(hardlinkGroup, (memberCounts.get(hardlinkGroup) ?? 0) + 1);
  }
  const described = new Map<string, string>();
  for (const [path, entry] of entries) {
    const isShared = entry.hardlinkGroup !== '' && memberCounts.get(entry.hardlinkGroup)! > 1;
    const hardlinkGroup = isShared ? firstPaths.get(entry.hardlinkGroup)! : '';
    described.set(path, JSON.stringify({ ...entry, hardlinkGroup }));
  }
  return described;
}

function typeOf(stats: BigIntStats): string {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  if (stats.isSymbolicLink()) return 'symlink';
  if (stats.isFIFO()) return 'fifo';
  if (stats.isSocket()) return 'socket';
  return stats.isBlockDevice() ? 'block device' : 'character device';
}

function contentOf(location: Buffer, { dev, ino, nlink }: BigIntStats, contents: Map<string, string>): string {
  if (nlink === 1n) return hashFile(location);
  const inode = `${dev}:${ino}`;
  const content = contents.get(inode) ?? hashFile(location);
  contents.set(inode, content);
  return content;
}

function hashFile(location: Buffer): string {
  const hash = createHash('sha256');
  const file = openSync(location, 'r');
  try {
    for (;;) {
      const sizeBytes = readSync(file, buffer, 0, buffer.length, null);
      if (sizeBytes === 0) return hash.digest('hex');
      hash.update(buffer.subarray(0, sizeBytes));
    }
  } finally {
    closeSync(file);
  }
}
