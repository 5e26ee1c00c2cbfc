import { IN_HEADER_BYTES } from '../../../../src/verbs/mount/fuse/protocol.ts';

/** A request as the kernel sends it. */
export function requestBytes(made: {
  readonly opcode: number;
  readonly nodeId?: number;
  readonly unique?: bigint;
  readonly body?: readonly Buffer[];
}): Buffer {
  const body = Buffer.concat(made.body ?? []);
  const header = Buffer.alloc(IN_HEADER_BYTES);
  header.writeUInt32LE(header.length + body.length, 0);
  header.writeUInt32LE(made.opcode >>> 0, 4);
  header.writeBigUInt64LE(made.unique ?? 2n, 8);
  header.writeBigUInt64LE(BigInt(made.nodeId ?? 1), 16);
  return Buffer.concat([header, body]);
}

export function u32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value, 4 * index);
  return bytes;
}

export function u64(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(8 * values.length);
  for (const [index, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), 8 * index);
  return bytes;
}
