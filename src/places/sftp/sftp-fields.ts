/** The number of SSH_FXP_EXTENDED. */
const EXTENDED = 200;

/** Returns a packet with an extended request. */
export function extendedPacket(id: number, name: string, fields: readonly Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.of(EXTENDED), uint32(id), textField(name), ...fields]);
  return Buffer.concat([uint32(body.length), body]);
}

export function textField(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}
