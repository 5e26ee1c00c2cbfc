import type { FuseCalls } from './system-calls.ts';
import type { ByteString } from '../../../core/util/byte-string.ts';
import type { FuseAttributes } from './attributes.ts';
import type { DirectoryEntry } from './replies.ts';

/** An extended attribute (xattr(7)). */
export interface NodeAttribute {
  readonly name: ByteString;
  readonly value: Uint8Array;
}

/** A file that is open for reading. */
export interface OpenFile {
  readonly sizeBytes: number;
  /** Returns where holes start and end, in turn; sorted, not adjacent. All bytes in them are 0. */
  holes(): Promise<Float64Array>;
  /**
   * Fills `target` with the bytes from `offset` on; less only at the end of the file. Returns how many these are, and no
   * promise if they are in memory.
   */
  read(offset: number, target: Uint8Array): number | Promise<number>;
}

/** Returns the first offset from `offset` on that is in no hole; undefined if there is none in the file. */
export function findData(sizeBytes: number, holes: Float64Array, offset: number): number | undefined {
  let found = offset;
  for (let index = 0; index < holes.length && holes[index]! <= found; index += 2) {
    found = Math.max(found, holes[index + 1]!);
  }
  return found < sizeBytes ? found : undefined;
}

/** Returns the first offset from `offset` on that is in a hole; there is one at the end of each file. */
export function findHole(sizeBytes: number, holes: Float64Array, offset: number): number | undefined {
  if (offset >= sizeBytes) return undefined;
  for (let index = 0; index < holes.length; index += 2) {
    if (holes[index + 1]! > offset) return Math.max(offset, holes[index]!);
  }
  return sizeBytes;
}

/** The entries of a directory as they were when it was opened, without `.` and `..`. */
export interface DirectoryListing {
  readonly count: number;
  entryAt(index: number): DirectoryEntry;
  /** Returns the node of an entry as a lookup does. */
  nodeAt(index: number): FileNode | undefined;
}

/**
 * A file or directory as the kernel knows it. While the kernel knows a node, every lookup of its name must return the
 * same object. Methods may reject or throw; the caller then gets an input/output error.
 */
export abstract class FileNode {
  /** Given by the server with the first lookup; 0 while the kernel does not know the node. */
  nodeId = 0;
  /** How many lookups the kernel has not forgotten. */
  lookupCount = 0;

  /** Whether its attributes and contents never change, and the names in it, so that the kernel may keep them. */
  abstract readonly isConstant: boolean;

  abstract attributes(): FuseAttributes;

  /** Called when the kernel no longer knows the node. */
  abstract forgotten(): void;

  lookup(_name: ByteString): FileNode | undefined | Promise<FileNode | undefined> {
    return undefined;
  }

  /** Only of a directory. */
  list(): DirectoryListing | Promise<DirectoryListing> {
    throw new Error('not a directory');
  }

  /** Only of a symlink. */
  linkTarget(): ByteString {
    throw new Error('not a symlink');
  }

  /** Only of a regular file. */
  open(): OpenFile | Promise<OpenFile> {
    throw new Error('not a file');
  }

  extendedAttributes(): readonly NodeAttribute[] {
    return [];
  }
}

export interface FuseServerOptions {
  readonly calls: FuseCalls;
  /** The channel to the kernel, non-blocking. The server does not close it. */
  readonly descriptor: number;
  readonly root: FileNode;
  /** Lets the kernel check permissions, ACLs included. Without it, one user may see everything. */
  readonly checksPermissions: boolean;
  /** Called once the kernel is connected. */
  readonly onReady: () => void;
  /** Called with everything that a request failed with; the process that made it gets an input/output error. */
  readonly onFailure: (error: unknown) => void;
}
