import { expect, it } from 'vitest';

import { FuseServer } from '../../../../src/verbs/mount/fuse/fuse-server.ts';
import { ERRNO, OPCODES } from '../../../../src/verbs/mount/fuse/protocol.ts';
import type { FuseCalls } from '../../../../src/verbs/mount/fuse/system-calls.ts';
import { MemoryNode } from './memory-session.ts';
import { requestBytes, u64 } from './request-bytes.ts';

/** Serves what the kernel gives, a request or an error number at a time. Returns the errors of the replies. */
async function serveAll(received: readonly (Buffer | number)[]): Promise<number[]> {
  const left = [...received];
  const replies: number[] = [];
  const calls: Pick<FuseCalls, 'read' | 'write' | 'waitReadable'> = {
    read: (_descriptor, target) => {
      const next = left.shift() ?? -ERRNO.ENODEV;
      if (typeof next === 'number') return next;
      target.set(next);
      return next.length;
    },
    write: (_descriptor, bytes) => replies.push(Buffer.from(bytes).readInt32LE(4)),
    waitReadable: async () => undefined,
  };
  const server = new FuseServer({
    calls: calls as FuseCalls,
    descriptor: -1,
    root: new MemoryNode({ children: {} }),
    checksPermissions: false,
    onReady: () => undefined,
    onFailure: () => undefined,
  });
  await server.run(-1);
  expect(left).toEqual([]);
  return replies;
}

const REQUEST = requestBytes({ opcode: OPCODES.getattr, body: [u64(0, 0)] });

it.each([
  ['a signal', ERRNO.EINTR],
  ['a request that was withdrawn', ERRNO.ENOENT],
  ['nothing for a while', ERRNO.EAGAIN],
])('a server goes on after %s, until it is unmounted', async (_what, errno) => {
  expect(await serveAll([REQUEST, -errno, REQUEST, -errno, REQUEST])).toEqual([0, 0, 0]);
});
