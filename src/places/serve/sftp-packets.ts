import type { Stats } from 'node:fs';
import type { Attributes } from 'ssh2';

import { HANDLES_MAX } from './open-files.ts';
import { RequestError, STATUS } from './request-error.ts';
import type { Entry, Space } from './served-directory.ts';

const TYPE = { VERSION: 2, EXTENDED_REPLY: 201 } as const;
const PROTOCOL_VERSION = 3;
/** What the protocol class accepts. */
export const PACKET_BYTES_MAX: number = 256 * 1024;
/** As the server of OpenSSH has it: the rest of a packet is for the handle and the like. */
export const TRANSFER_BYTES_MAX: number = PACKET_BYTES_MAX - 1024;
const NAME_BYTES_MAX = 255;

const EXTENSIONS: Readonly<Record<string, string>> = {
  'posix-rename@openssh.com': '1',
  'statvfs@openssh.com': '2',
  'hardlink@openssh.com': '1',
  'fsync@openssh.com': '1',
  'limits@openssh.com': '1',
  'open@ldm': '1',
  'chain@ldm': '1',
  'expect@ldm': '1',
};

/** Returns SSH_FXP_VERSION with the extensions, which the protocol class would leave out. */
export function versionPacket(isAppendOnly: boolean): Buffer {
  const own = isAppendOnly ? { 'append-only@ldm': '1' } : {};
  const words = Object.entries({ ...EXTENSIONS, ...own }).flatMap(([name, version]) => [
    stringOf(name),
    stringOf(version),
  ]);
  return packet(TYPE.VERSION, uint32(PROTOCOL_VERSION), ...words);
}

/** Returns the answer to `limits@openssh.com` (PROTOCOL of OpenSSH, section 4.8). */
export function limitsReply(id: number): Buffer {
  const limits = [PACKET_BYTES_MAX, TRANSFER_BYTES_MAX, TRANSFER_BYTES_MAX, HANDLES_MAX];
  return packet(TYPE.EXTENDED_REPLY, uint32(id), ...limits.map((limit) => uint64(limit)));
}

/** Returns the answer to `statvfs@openssh.com` (PROTOCOL of OpenSSH, section 4.4). */
export function spaceReply(id: number, space: Space): Buffer {
  const { blockBytes, blocks, freeBlocks, files, freeFiles } = space;
  const fileSystemId = 0;
  const flags = 0;
  const blockCounts = [blockBytes, blockBytes, blocks, freeBlocks, freeBlocks];
  const values = [...blockCounts, files, freeFiles, freeFiles, fileSystemId, flags, NAME_BYTES_MAX];
  return packet(TYPE.EXTENDED_REPLY, uint32(id), ...values.map((value) => uint64(value)));
}

/** Reads the fields of an extended request, one after the other. Throws `RequestError` where they end too early. */
export class Fields {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Buffer | undefined) {
    this.#bytes = bytes ?? Buffer.alloc(0);
  }

  string(): string {
    return this.#take(this.uint32()).toString();
  }

  uint32(): number {
    return this.#take(4).readUInt32BE();
  }

  uint64(): bigint {
    return this.#take(8).readBigUInt64BE();
  }

  #take(lengthBytes: number): Buffer {
    const end = this.#offset + lengthBytes;
    if (end > this.#bytes.length) throw new RequestError(STATUS.BAD_MESSAGE, 'Bad message');
    const field = this.#bytes.subarray(this.#offset, end);
    this.#offset = end;
    return field;
  }
}

export function attributesOf({ size, mode, uid, gid, atimeMs, mtimeMs }: Stats): Attributes {
  return { size, mode, uid, gid, atime: Math.floor(atimeMs / 1000), mtime: Math.floor(mtimeMs / 1000) };
}

/** Returns a line as of `ls -l`, which clients show to people. */
export function longNameOf({ name, stats }: Entry): string {
  const kind = stats.isDirectory() ? 'd' : stats.isSymbolicLink() ? 'l' : '-';
  const bits = Array.from('rwxrwxrwx', (letter, index) => ((stats.mode >> (8 - index)) & 1 ? letter : '-')).join('');
  const time = stats.mtime.toISOString().slice(0, 16).replace('T', ' ');
  return `${kind}${bits} ${stats.nlink} ${stats.uid} ${stats.gid} ${stats.size} ${time} ${name}`;
}

function packet(type: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.of(type), ...parts]);
  return Buffer.concat([uint32(body.length), body]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

function stringOf(text: string): Buffer {
  return Buffer.concat([uint32(Buffer.byteLength(text)), Buffer.from(text)]);
}
