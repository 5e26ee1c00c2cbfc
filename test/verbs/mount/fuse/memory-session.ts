import { expect } from 'vitest';

import type { FuseAttributes } from '../../../../src/verbs/mount/fuse/attributes.ts';
import { FileNode } from '../../../../src/verbs/mount/fuse/file-node.ts';
import type { DirectoryListing, NodeAttribute, OpenFile } from '../../../../src/verbs/mount/fuse/file-node.ts';
import { FuseSession } from '../../../../src/verbs/mount/fuse/fuse-session.ts';
import { decodeRequest } from '../../../../src/verbs/mount/fuse/requests.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { requestBytes } from './request-bytes.ts';

export const MODES: Readonly<Record<'directory' | 'file', number>> = { directory: 0o040_755, file: 0o100_644 };

/** A node in memory. */
export class MemoryNode extends FileNode {
  readonly isConstant = true;
  forgottenCount = 0;
  readonly #mode: number;
  readonly #children: ReadonlyMap<string, FileNode>;
  readonly #content: Buffer | undefined;
  readonly #attributes: readonly NodeAttribute[];

  constructor(
    made: {
      readonly children?: Readonly<Record<string, FileNode>>;
      readonly content?: Buffer | undefined;
      readonly attributes?: readonly NodeAttribute[];
    } = {},
  ) {
    super();
    this.#children = new Map(Object.entries(made.children ?? {}));
    this.#mode = made.children === undefined ? MODES.file : MODES.directory;
    this.#content = made.content;
    this.#attributes = made.attributes ?? [];
  }

  override attributes(): FuseAttributes {
    return {
      inode: { low: 0xdead_beef, high: 0x8000_0001 },
      mode: this.#mode,
      linkCount: 3,
      uid: 4_000_000_000,
      gid: 7,
      sizeBytes: 2 ** 40 + 1,
      blockCount: 2 ** 33,
      modifiedSeconds: -1,
      modifiedNanoseconds: 999_999_999,
      changedSeconds: 2 ** 35,
      changedNanoseconds: 5,
      deviceMajor: 0xfff,
      deviceMinor: 0xf_ffff,
    };
  }

  override forgotten(): void {
    this.forgottenCount += 1;
  }

  override lookup(name: ByteString): FileNode | undefined {
    return this.#children.get(name);
  }

  override list(): DirectoryListing {
    const entries = [...this.#children];
    return {
      count: entries.length,
      entryAt: (index) => ({
        name: entries[index]![0] as ByteString,
        inode: { low: index, high: 0 },
        mode: entries[index]![1].attributes().mode,
      }),
      nodeAt: (index) => entries[index]![1],
    };
  }

  override async open(): Promise<OpenFile> {
    const content = this.#content;
    if (content === undefined) throw new Error('unreadable');
    const holes = Float64Array.of(0, 2, 5, 6);
    return {
      sizeBytes: content.length,
      holes: async () => holes,
      read: (offset, target) => content.copy(target, 0, offset),
    };
  }

  override extendedAttributes(): readonly NodeAttribute[] {
    return this.#attributes;
  }
}

export interface Reply {
  readonly errno: number;
  readonly body: Buffer;
}

/** A session whose replies are returned instead of sent. A request without a reply has errno -1. */
export function startSession(root: FileNode): {
  readonly ask: (opcode: number, nodeId: number, ...body: readonly Buffer[]) => Promise<Reply>;
  readonly replyCount: () => number;
  readonly failures: readonly unknown[];
} {
  const replies = new Map<bigint, Reply>();
  const failures: unknown[] = [];
  let unique = 0n;
  const session = new FuseSession({
    root,
    checksPermissions: false,
    onReady: () => undefined,
    onFailure: (error) => failures.push(error),
    send: (bytes) => {
      const reply = Buffer.from(bytes);
      expect(reply.readUInt32LE(0)).toBe(reply.length);
      replies.set(reply.readBigUInt64LE(8), { errno: Math.abs(reply.readInt32LE(4)), body: reply.subarray(16) });
    },
  });
  return {
    failures,
    replyCount: () => replies.size,
    ask: async (opcode, nodeId, ...body) => {
      unique += 2n;
      const own = unique;
      session.handle(decodeRequest(requestBytes({ opcode, nodeId, unique: own, body }))!);
      await new Promise((resolve) => setImmediate(resolve));
      return replies.get(own) ?? { errno: -1, body: Buffer.alloc(0) };
    },
  };
}
