import { describe, expect, it } from 'vitest';

import { ERRNO, OPCODES, ROOT_NODE_ID } from '../../../../src/verbs/mount/fuse/protocol.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { MODES, MemoryNode, startSession } from './memory-session.ts';
import type { Reply } from './memory-session.ts';
import { u32, u64 } from './request-bytes.ts';

function terminated(name: string): Buffer {
  return Buffer.from(`${name}\0`, 'latin1');
}

function readRequest(handle: number, offset: number, sizeBytes: number): Buffer {
  return Buffer.concat([u64(handle, offset), u32(sizeBytes, 0), u64(0), u32(0, 0)]);
}

/** The names in a reply to readdir, and the offset of the next request. */
function parseList(body: Buffer): { readonly names: string[]; readonly next: number } {
  const names: string[] = [];
  let next = 0;
  for (let at = 0; at < body.length;) {
    const nameBytes = body.readUInt32LE(at + 16);
    names.push(body.toString('latin1', at + 24, at + 24 + nameBytes));
    next = Number(body.readBigUInt64LE(at + 8));
    at += (24 + nameBytes + 7) & ~7;
  }
  return { names, next };
}

describe('a session', () => {
  it('encodes attributes as struct fuse_attr has them', async () => {
    const { ask } = startSession(new MemoryNode({ children: {} }));
    const { body } = await ask(OPCODES.getattr, ROOT_NODE_ID, u64(0, 0));
    expect(body).toHaveLength(104);
    const attributes = body.subarray(16);
    expect(attributes.readBigUInt64LE(0)).toBe(0x8000_0001_dead_beefn);
    expect(attributes.readBigUInt64LE(8)).toBe(2n ** 40n + 1n);
    expect(attributes.readBigUInt64LE(16)).toBe(2n ** 33n);
    expect([24, 32, 40].map((at) => attributes.readBigInt64LE(at))).toEqual([-1n, -1n, 2n ** 35n]);
    expect([48, 52, 56].map((at) => attributes.readUInt32LE(at))).toEqual([999_999_999, 999_999_999, 5]);
    expect([60, 64, 68, 72].map((at) => attributes.readUInt32LE(at))).toEqual([MODES.directory, 3, 4_000_000_000, 7]);
    // Minor number in bits 0 to 7 and 20 to 31, major number between them.
    expect(attributes.readUInt32LE(76)).toBe(0xffff_ffff);
  });

  it('keeps a node until all of its lookups are forgotten, and gives ids once', async () => {
    const child = new MemoryNode();
    const { ask } = startSession(new MemoryNode({ children: { child } }));
    const look = async (): Promise<number> =>
      Number((await ask(OPCODES.lookup, ROOT_NODE_ID, terminated('child'))).body.readBigUInt64LE(0));
    const nodeId = await look();
    expect(await look()).toBe(nodeId);
    expect(await look()).toBe(nodeId);
    await ask(OPCODES.forget, nodeId, u64(1));
    expect((await ask(OPCODES.getattr, nodeId, u64(0, 0))).errno).toBe(0);
    expect(child.forgottenCount).toBe(0);
    await ask(OPCODES.batchForget, 0, u32(2, 0), u64(nodeId, 2, 999, 1));
    expect(child.forgottenCount).toBe(1);
    expect((await ask(OPCODES.getattr, nodeId, u64(0, 0))).errno).toBe(ERRNO.ENOENT);
    expect(await look()).toBeGreaterThan(nodeId);
    await ask(OPCODES.forget, ROOT_NODE_ID, u64(1000));
    expect((await ask(OPCODES.getattr, ROOT_NODE_ID, u64(0, 0))).errno).toBe(0);
  });

  it('lets the kernel remember that a name does not exist', async () => {
    const { ask } = startSession(new MemoryNode({ children: {} }));
    const { errno, body } = await ask(OPCODES.lookup, ROOT_NODE_ID, terminated('absent'));
    expect(errno).toBe(0);
    expect([0, 16].map((at) => Number(body.readBigUInt64LE(at)))).toEqual([0, 86_400]);
  });

  it('continues a listing at any offset, in pieces of any size', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `${'n'.repeat(index % 250)}${index}`);
    const children = Object.fromEntries(names.map((name) => [name, new MemoryNode()]));
    const { ask } = startSession(new MemoryNode({ children }));
    const handle = Number((await ask(OPCODES.opendir, ROOT_NODE_ID, u32(0, 0))).body.readBigUInt64LE(0));
    for (const sizeBytes of [300, 1000, 4096, 2 ** 32 - 1]) {
      const listed: string[] = [];
      for (let offset = 0, isEnd = false; !isEnd;) {
        const { body } = await ask(OPCODES.readdir, ROOT_NODE_ID, readRequest(handle, offset, sizeBytes));
        expect(body.length).toBeLessThanOrEqual(sizeBytes);
        const { names: some, next } = parseList(body);
        listed.push(...some);
        isEnd = some.length === 0;
        offset = next;
      }
      expect(listed).toEqual(['.', '..', ...Object.keys(children)]);
    }
    await ask(OPCODES.releasedir, ROOT_NODE_ID, u64(handle, 0, 0));
    const closed = await ask(OPCODES.readdir, ROOT_NODE_ID, readRequest(handle, 0, 4096));
    expect(closed.errno).toBe(ERRNO.EBADF);
  });

  it('lists an entry into room that it fills exactly', async () => {
    const { ask } = startSession(new MemoryNode({ children: { child: new MemoryNode() } }));
    const handle = Number((await ask(OPCODES.opendir, ROOT_NODE_ID, u32(0, 0))).body.readBigUInt64LE(0));
    const list = async (opcode: number, sizeBytes: number): Promise<number> =>
      (await ask(opcode, ROOT_NODE_ID, readRequest(handle, 2, sizeBytes))).body.length;
    expect([await list(OPCODES.readdir, 31), await list(OPCODES.readdir, 32)]).toEqual([0, 32]);
    expect([await list(OPCODES.readdirplus, 159), await list(OPCODES.readdirplus, 160)]).toEqual([0, 160]);
  });

  it('counts a lookup for each entry that is listed with its attributes', async () => {
    const child = new MemoryNode();
    const { ask } = startSession(new MemoryNode({ children: { child } }));
    const handle = Number((await ask(OPCODES.opendir, ROOT_NODE_ID, u32(0, 0))).body.readBigUInt64LE(0));
    const { body } = await ask(OPCODES.readdirplus, ROOT_NODE_ID, readRequest(handle, 2, 4096));
    expect(Number(body.readBigUInt64LE(0))).toBe(child.nodeId);
    expect(body.toString('latin1', 128 + 24, 128 + 29)).toBe('child');
    expect(child.lookupCount).toBe(1);
    // Too small for the entry: it must not be counted.
    await ask(OPCODES.readdirplus, ROOT_NODE_ID, readRequest(handle, 2, 100));
    expect(child.lookupCount).toBe(1);
  });

  it('reads files, and makes failures an input/output error', async () => {
    const [good, bad] = [new MemoryNode({ content: Buffer.from('content') }), new MemoryNode()];
    const { ask, failures } = startSession(new MemoryNode({ children: { good, bad } }));
    for (const name of ['good', 'bad']) await ask(OPCODES.lookup, ROOT_NODE_ID, terminated(name));
    const handle = Number((await ask(OPCODES.open, good.nodeId, u32(0, 0))).body.readBigUInt64LE(0));
    expect((await ask(OPCODES.read, good.nodeId, readRequest(handle, 3, 100))).body.toString()).toBe('tent');
    expect((await ask(OPCODES.read, good.nodeId, readRequest(handle, 7, 100))).body).toHaveLength(0);
    expect((await ask(OPCODES.open, bad.nodeId, u32(0, 0))).errno).toBe(ERRNO.EIO);
    expect((await ask(OPCODES.readlink, good.nodeId)).errno).toBe(ERRNO.EIO);
    expect(failures).toHaveLength(2);
  });

  it('keeps reads apart that end later and in another order', async () => {
    const reads: { readonly end: (byte: string) => void }[] = [];
    const file = new MemoryNode();
    file.open = async () => ({
      sizeBytes: 8,
      holes: async () => new Float64Array(),
      read: async (_offset, target) =>
        new Promise((resolve) => reads.push({ end: (byte) => resolve(target.fill(byte.charCodeAt(0)).length) })),
    });
    const { ask } = startSession(new MemoryNode({ children: { file } }));
    await ask(OPCODES.lookup, ROOT_NODE_ID, terminated('file'));
    const handle = Number((await ask(OPCODES.open, file.nodeId, u32(0, 0))).body.readBigUInt64LE(0));
    const read = async (): Promise<string> =>
      (await ask(OPCODES.read, file.nodeId, readRequest(handle, 0, 4))).body.toString();
    // One that has ended leaves its memory for the next ones.
    const first = read();
    reads[0]!.end('a');
    expect(await first).toBe('aaaa');
    const both = [read(), read()];
    expect(reads).toHaveLength(3);
    reads[1]!.end('b');
    reads[2]!.end('c');
    expect(await Promise.all(both)).toEqual(['bbbb', 'cccc']);
  });

  it('finds data and holes', async () => {
    // Holes are from 0 to 2 and from 5 to 6.
    const file = new MemoryNode({ content: Buffer.from('content') });
    const { ask } = startSession(new MemoryNode({ children: { file } }));
    await ask(OPCODES.lookup, ROOT_NODE_ID, terminated('file'));
    const handle = Number((await ask(OPCODES.open, file.nodeId, u32(0, 0))).body.readBigUInt64LE(0));
    const seek = async (offset: number, whence: number): Promise<number> => {
      const { errno, body } = await ask(OPCODES.lseek, file.nodeId, u64(handle, offset), u32(whence, 0));
      return errno === 0 ? Number(body.readBigUInt64LE(0)) : -errno;
    };
    const offsets = [0, 1, 2, 4, 5, 6, 7];
    expect(await Promise.all(offsets.map((offset) => seek(offset, 3)))).toEqual([2, 2, 2, 4, 6, 6, -ERRNO.ENXIO]);
    expect(await Promise.all(offsets.map((offset) => seek(offset, 4)))).toEqual([0, 1, 5, 5, 5, 7, -ERRNO.ENXIO]);
    expect(await seek(0, 2)).toBe(-ERRNO.EINVAL);
  });

  it('returns extended attributes, their length, and an error where the room does not suffice', async () => {
    const attributes = [
      { name: 'user.a' as ByteString, value: Buffer.from([0, 255, 1]) },
      { name: 'user.\u00ff' as ByteString, value: Buffer.alloc(0) },
    ];
    const { ask } = startSession(new MemoryNode({ children: {}, attributes }));
    const get = async (name: string, sizeBytes: number): Promise<Reply> =>
      ask(OPCODES.getxattr, ROOT_NODE_ID, u32(sizeBytes, 0), terminated(name));
    for (const sizeBytes of [3, 10]) expect((await get('user.a', sizeBytes)).body).toEqual(Buffer.from([0, 255, 1]));
    expect((await get('user.a', 0)).body.readUInt32LE(0)).toBe(3);
    expect((await get('user.a', 2)).errno).toBe(ERRNO.ERANGE);
    expect(await get('user.\u00ff', 10)).toEqual({ errno: 0, body: Buffer.alloc(0) });
    expect((await get('user.b', 10)).errno).toBe(ERRNO.ENODATA);
    const list = await ask(OPCODES.listxattr, ROOT_NODE_ID, u32(100, 0));
    expect(list.body.toString('latin1')).toBe('user.a\0user.\u00ff\0');
    expect((await ask(OPCODES.listxattr, ROOT_NODE_ID, u32(5, 0))).errno).toBe(ERRNO.ERANGE);
  });

  it('refuses changes, what it does not know, and what makes no sense', async () => {
    const { ask, replyCount } = startSession(new MemoryNode({ children: {} }));
    expect((await ask(OPCODES.mkdir, ROOT_NODE_ID, u32(0, 0), terminated('new'))).errno).toBe(ERRNO.EROFS);
    expect((await ask(4000, ROOT_NODE_ID)).errno).toBe(ERRNO.ENOSYS);
    expect((await ask(OPCODES.read, ROOT_NODE_ID)).errno).toBe(ERRNO.EINVAL);
    expect((await ask(OPCODES.getattr, 77, u64(0, 0))).errno).toBe(ERRNO.ENOENT);
    expect((await ask(OPCODES.read, ROOT_NODE_ID, readRequest(5, 0, 10))).errno).toBe(ERRNO.EBADF);
    expect((await ask(OPCODES.init, 0, u32(7, 22, 0, 0))).errno).toBe(ERRNO.EINVAL);
    const count = replyCount();
    // These two have no reply.
    await ask(OPCODES.interrupt, 0, u64(2));
    await ask(OPCODES.forget, 77, u64(1));
    expect(replyCount()).toBe(count);
  });

  it('agrees with the kernel on what both know', async () => {
    const { ask } = startSession(new MemoryNode({ children: {} }));
    const { body } = await ask(OPCODES.init, 0, u32(7, 45, 131_072, 0xffff_ffff));
    expect(body).toHaveLength(64);
    expect([0, 4, 8].map((at) => body.readUInt32LE(at))).toEqual([7, 31, 131_072]);
    // Asynchronous reads, readdirplus where it helps, parallel lookups; permissions are not checked by ACLs.
    expect(body.readUInt32LE(12)).toBe((1 << 0) | (1 << 13) | (1 << 14) | (1 << 18));
    const older = await ask(OPCODES.init, 0, u32(7, 27, 131_072, 1));
    expect([4, 12].map((at) => older.body.readUInt32LE(at))).toEqual([27, 1]);
  });
});
