import type { FileIdentity, ListedFile } from '../files/source/source-stream.ts';
import type { FileToWrite } from '../files/target/target-file.ts';
import { wantedGid, wantedUid } from '../files/target/target-policy.ts';
import type { TargetPolicy } from '../files/target/target-policy.ts';
import { accessTimeExtensions, accessTimeOf } from '../format/tree/access-time.ts';
import type { AccessTime } from '../format/tree/access-time.ts';
import { decodeXattrs, encodeXattrs } from '../format/tree/entry-extensions.ts';
import type { ByteString } from '../util/byte-string.ts';

/**
 * Many files in a few objects, for transfer to a thread: copying one object with its fields per file took 2 % of the
 * processor time of a first backup of /usr.
 */
interface FileList {
  readonly count: number;
  /** Concatenated, separated by zero bytes, which no path contains. */
  readonly paths: string;
  /** The numbers of each file, file by file. */
  readonly numbers: Float64Array;
}

/** Files to read, in packed form. */
export interface ListedFiles extends FileList {
  /** Inode and device of each file, because they may need 64 bits. */
  readonly ids: BigUint64Array;
}

/** Files to write, in packed form. */
export interface FilesToWrite extends FileList {
  /** The extended attributes of all files as in a tree, one file after the other. */
  readonly xattrs: Uint8Array;
}

const NUMBERS_PER_LISTED = 7;
const NUMBERS_PER_WRITTEN = 12;
const NO_NAME = '' as ByteString;

export function packListed(files: readonly ListedFile[]): ListedFiles {
  const numbers = new Float64Array(files.length * NUMBERS_PER_LISTED);
  const ids = new BigUint64Array(files.length * 2);
  let [nextNumber, nextId] = [0, 0];
  for (const { metadata } of files) {
    numbers[nextNumber++] = metadata.uid;
    numbers[nextNumber++] = metadata.sizeBytes;
    numbers[nextNumber++] = metadata.allocatedBytes;
    numbers[nextNumber++] = metadata.mtimeSeconds;
    numbers[nextNumber++] = metadata.mtimeNanoseconds;
    numbers[nextNumber++] = metadata.ctimeSeconds;
    numbers[nextNumber++] = metadata.ctimeNanoseconds;
    ids[nextId++] = metadata.inode;
    ids[nextId++] = metadata.device;
  }
  return { count: files.length, paths: files.map(({ path }) => path).join('\0'), numbers, ids };
}

export function unpackListed({ paths, numbers, ids }: ListedFiles): ListedFile[] {
  return pathsOf(paths).map((path, index) => {
    let next = index * NUMBERS_PER_LISTED;
    const metadata: FileIdentity = {
      uid: numbers[next++]!,
      sizeBytes: numbers[next++]!,
      allocatedBytes: numbers[next++]!,
      mtimeSeconds: numbers[next++]!,
      mtimeNanoseconds: numbers[next++]!,
      ctimeSeconds: numbers[next++]!,
      ctimeNanoseconds: numbers[next++]!,
      inode: ids[2 * index]!,
      device: ids[2 * index + 1]!,
    };
    return { path, metadata };
  });
}

/** The owners are looked up here, because a thread gets only their numbers. `paths`: that of each file. */
export function packFilesToWrite(
  files: readonly Omit<FileToWrite, 'path'>[],
  paths: readonly ByteString[],
  policy: TargetPolicy,
): FilesToWrite {
  const numbers = new Float64Array(files.length * NUMBERS_PER_WRITTEN);
  const xattrs: Uint8Array[] = [];
  let next = 0;
  for (const file of files) {
    numbers[next++] = file.replaces ? 1 : 0;
    numbers[next++] = file.sizeBytes;
    numbers[next++] = wantedUid(file, policy);
    numbers[next++] = wantedGid(file, policy);
    numbers[next++] = file.mode;
    numbers[next++] = file.mtimeSeconds;
    numbers[next++] = file.mtimeNanoseconds;
    const accessed = accessTimeOf(file);
    numbers[next++] = accessed?.seconds ?? NaN;
    numbers[next++] = accessed?.nanoseconds ?? 0;
    numbers[next++] = file.inodeFlags;
    numbers[next++] = file.inheritsAcl === true ? 1 : 0;
    const own = file.xattrs.length === 0 ? undefined : encodeXattrs(file.xattrs);
    numbers[next++] = own?.length ?? 0;
    if (own !== undefined) xattrs.push(own);
  }
  return { count: files.length, paths: paths.join('\0'), numbers, xattrs: Buffer.concat(xattrs) };
}

export function unpackFilesToWrite({ paths, numbers, xattrs }: FilesToWrite): FileToWrite[] {
  let xattrsEnd = 0;
  return pathsOf(paths).map((path, index) => {
    let next = index * NUMBERS_PER_WRITTEN;
    return {
      path,
      replaces: numbers[next++] === 1,
      type: 'file',
      sizeBytes: numbers[next++]!,
      uid: numbers[next++]!,
      gid: numbers[next++]!,
      mode: numbers[next++]!,
      mtimeSeconds: numbers[next++]!,
      mtimeNanoseconds: numbers[next++]!,
      extensions: accessTimeExtensions(timeOf(numbers[next++]!, numbers[next++]!)),
      inodeFlags: numbers[next++]!,
      inheritsAcl: numbers[next++] === 1,
      xattrs: decodeXattrs(xattrs, xattrsEnd, (xattrsEnd += numbers[next]!)),
      user: NO_NAME,
      group: NO_NAME,
    };
  });
}

/** Without an access time, there are no seconds. */
function timeOf(seconds: number, nanoseconds: number): AccessTime | undefined {
  return Number.isNaN(seconds) ? undefined : { seconds, nanoseconds };
}

function pathsOf(paths: string): ByteString[] {
  return (paths === '' ? [] : paths.split('\0')) as ByteString[];
}
