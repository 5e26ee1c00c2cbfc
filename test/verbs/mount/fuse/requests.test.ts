import { describe, expect, it } from 'vitest';

import { OPCODES } from '../../../../src/verbs/mount/fuse/protocol.ts';
import { decodeRequest } from '../../../../src/verbs/mount/fuse/requests.ts';
import { createPrng } from '../../../support/prng.ts';
import { seedsOf } from '../../../support/seeds.ts';
import { requestBytes, u32, u64 } from './request-bytes.ts';

describe('decodeRequest', () => {
  it('reads each kind of request', () => {
    const decode = (opcode: number, ...body: readonly Buffer[]): unknown =>
      decodeRequest(requestBytes({ opcode, nodeId: 5, unique: 2n ** 63n + 1n, body }));
    const header = { nodeId: 5, unique: 2n ** 63n + 1n };
    expect(decode(OPCODES.lookup, Buffer.from('caf\u00e9\0', 'latin1'))).toEqual({
      ...header,
      kind: 'lookup',
      name: 'caf\u00e9',
    });
    expect(decode(OPCODES.forget, u64(3))).toMatchObject({ kind: 'forget', nodes: [{ nodeId: 5, lookupCount: 3 }] });
    expect(decode(OPCODES.batchForget, u32(2, 0), u64(7, 1, 8, 4))).toMatchObject({
      kind: 'forget',
      nodes: [
        { nodeId: 7, lookupCount: 1 },
        { nodeId: 8, lookupCount: 4 },
      ],
    });
    const range = [u64(9, 2 ** 40), u32(131_072, 0), u64(0), u32(0, 0)];
    expect(decode(OPCODES.read, ...range)).toMatchObject({
      kind: 'read',
      handle: 9,
      offset: 2 ** 40,
      sizeBytes: 131_072,
    });
    expect(decode(OPCODES.readdirplus, ...range)).toMatchObject({ kind: 'readdir', handle: 9, withAttributes: true });
    expect(decode(OPCODES.release, u64(9), u32(0, 0), u64(0))).toMatchObject({ kind: 'release', handle: 9 });
    expect(decode(OPCODES.getxattr, u32(10, 0), Buffer.from('user.x\0'))).toMatchObject({
      kind: 'getxattr',
      sizeBytes: 10,
      name: 'user.x',
    });
    expect(decode(OPCODES.init, u32(7, 45, 131_072, 0xffff_ffff))).toMatchObject({
      kind: 'init',
      major: 7,
      minor: 45,
      flags: 0xffff_ffff,
    });
    expect(decode(OPCODES.getattr, u64(0, 0))).toEqual({ ...header, kind: 'getattr' });
    expect(decode(OPCODES.write, Buffer.alloc(80))).toEqual({ ...header, kind: 'change' });
    expect(decode(4096)).toEqual({ ...header, kind: 'unknown' });
  });

  it.each([
    ['a name without an end', OPCODES.lookup, Buffer.from('name')],
    ['an empty name', OPCODES.lookup, Buffer.from('\0')],
    ['fewer forgotten nodes than it says', OPCODES.batchForget, Buffer.concat([u32(3, 0), u64(7, 1, 8, 4)])],
    ['more forgotten nodes than fit in memory', OPCODES.batchForget, u32(0xffff_ffff, 0)],
    ['an offset above 2^53', OPCODES.read, Buffer.concat([u64(9), Buffer.alloc(8, 0xff), Buffer.alloc(24)])],
    ['a short read', OPCODES.read, Buffer.alloc(39)],
    ['a short lseek', OPCODES.lseek, Buffer.alloc(23)],
    ['a short init', OPCODES.init, Buffer.alloc(15)],
    ['a short release', OPCODES.releasedir, Buffer.alloc(23)],
    ['an attribute without a name', OPCODES.getxattr, u32(10, 0)],
  ])('reports %s as malformed', (_, opcode, body) => {
    expect(decodeRequest(requestBytes({ opcode, body: [body] }))?.kind).toBe('malformed');
  });

  it('reports a wrong length as malformed, and ignores what is shorter than a header', () => {
    const bytes = requestBytes({ opcode: OPCODES.getattr, body: [u64(0, 0)] });
    expect(decodeRequest(bytes)?.kind).toBe('getattr');
    expect(decodeRequest(bytes.subarray(0, 50))?.kind).toBe('malformed');
    expect(decodeRequest(Buffer.concat([bytes, Buffer.alloc(1)]))?.kind).toBe('malformed');
    expect(decodeRequest(bytes.subarray(0, 39))).toBeUndefined();
    expect(decodeRequest(Buffer.alloc(0))).toBeUndefined();
  });

  it.each(seedsOf(1, 20))('never fails on random bytes (seed %i)', (seed) => {
    const prng = createPrng(seed);
    for (let round = 0; round < 20_000; round += 1) {
      const body = prng.bytes(prng.int(120));
      const opcode = prng.pick([...Object.values(OPCODES), prng.next()]);
      const request = decodeRequest(requestBytes({ opcode, body: [body] }));
      expect(request?.kind, `seed ${seed}`).toBeTypeOf('string');
    }
  });
});
