import type { ByteString } from '../../../core/util/byte-string.ts';
import { CHANGING_OPCODES, IN_HEADER_BYTES, OPCODES } from './protocol.ts';

/** Every request is about a node, and its reply repeats `unique`. */
interface RequestHeader {
  readonly unique: bigint;
  readonly nodeId: number;
}

/** One request of the kernel. Names and bytes are copies. */
export type FuseRequest = RequestHeader & RequestBody;

/** Requests of which only the node matters here. */
type BareKind =
  | 'getattr'
  | 'readlink'
  | 'open'
  | 'opendir'
  | 'statfs'
  | 'access'
  | 'destroy'
  | 'interrupt'
  | 'change'
  | 'unknown'
  | 'malformed';

type RequestBody =
  | { [Kind in BareKind]: { readonly kind: Kind } }[BareKind]
  | { readonly kind: 'lookup'; readonly name: ByteString }
  | { readonly kind: 'forget'; readonly nodes: readonly ForgottenNode[] }
  | { readonly kind: 'release' | 'releasedir'; readonly handle: number }
  | { readonly kind: 'read'; readonly handle: number; readonly offset: number; readonly sizeBytes: number }
  | {
      readonly kind: 'readdir';
      readonly handle: number;
      readonly offset: number;
      readonly sizeBytes: number;
      /** Whether the attributes of the entries are wanted too. */
      readonly withAttributes: boolean;
    }
  | { readonly kind: 'getxattr'; readonly sizeBytes: number; readonly name: ByteString }
  | { readonly kind: 'listxattr'; readonly sizeBytes: number }
  | { readonly kind: 'lseek'; readonly handle: number; readonly offset: number; readonly whence: number }
  | ({ readonly kind: 'init' } & InitRequest);

interface InitRequest {
  readonly major: number;
  readonly minor: number;
  readonly maxReadAheadBytes: number;
  readonly flags: number;
}

/** A node, and the number of its lookups that the kernel has forgotten. */
export interface ForgottenNode {
  readonly nodeId: number;
  readonly lookupCount: number;
}

const FORGET_BYTES = 8;
const FORGET_ONE_BYTES = 16;
const INIT_BYTES = 16;
const READ_BYTES = 40;
const RELEASE_BYTES = 24;
const GETXATTR_BYTES = 8;
const SEEK_BYTES = 24;

/**
 * Decodes a request. One whose parts do not fit in its length is `malformed`; returns undefined if not even the header
 * is whole.
 */
export function decodeRequest(bytes: Buffer): FuseRequest | undefined {
  if (bytes.length < IN_HEADER_BYTES) return undefined;
  const header = { unique: bytes.readBigUInt64LE(8), nodeId: readUint64(bytes, 16) };
  const isWhole = bytes.readUInt32LE(0) === bytes.length;
  const body = isWhole ? decodeBody(bytes.readUInt32LE(4), header.nodeId, bytes.subarray(IN_HEADER_BYTES)) : undefined;
  return { ...header, ...(body ?? { kind: 'malformed' }) };
}

/** Returns undefined if the body is too short or has impossible values. */
function decodeBody(opcode: number, nodeId: number, body: Buffer): RequestBody | undefined {
  switch (opcode) {
    case OPCODES.lookup:
      return withName(body, 0, (name) => ({ kind: 'lookup', name }));
    case OPCODES.forget:
      if (body.length < FORGET_BYTES) return undefined;
      return { kind: 'forget', nodes: [{ nodeId, lookupCount: readUint64(body, 0) }] };
    case OPCODES.batchForget:
      return decodeBatchForget(body);
    case OPCODES.read:
      return decodeRead(body);
    case OPCODES.readdir:
      return decodeReaddir(body, false);
    case OPCODES.readdirplus:
      return decodeReaddir(body, true);
    case OPCODES.release:
      return decodeRelease(body, 'release');
    case OPCODES.releasedir:
      return decodeRelease(body, 'releasedir');
    case OPCODES.getxattr:
      if (body.length < GETXATTR_BYTES) return undefined;
      return withName(body, GETXATTR_BYTES, (name) => ({ kind: 'getxattr', sizeBytes: body.readUInt32LE(0), name }));
    case OPCODES.listxattr:
      if (body.length < GETXATTR_BYTES) return undefined;
      return { kind: 'listxattr', sizeBytes: body.readUInt32LE(0) };
    case OPCODES.lseek:
      return decodeSeek(body);
    case OPCODES.init:
      return decodeInit(body);
    default:
      return { kind: BARE_KINDS.get(opcode) ?? (CHANGING_OPCODES.has(opcode) ? 'change' : 'unknown') };
  }
}

const BARE_KINDS: ReadonlyMap<number, BareKind> = new Map<number, BareKind>([
  [OPCODES.getattr, 'getattr'],
  [OPCODES.readlink, 'readlink'],
  [OPCODES.open, 'open'],
  [OPCODES.opendir, 'opendir'],
  [OPCODES.statfs, 'statfs'],
  [OPCODES.access, 'access'],
  [OPCODES.destroy, 'destroy'],
  [OPCODES.interrupt, 'interrupt'],
]);

function decodeBatchForget(body: Buffer): RequestBody | undefined {
  if (body.length < FORGET_BYTES) return undefined;
  const count = body.readUInt32LE(0);
  if (body.length - FORGET_BYTES < count * FORGET_ONE_BYTES) return undefined;
  const nodes = Array.from({ length: count }, (_, index) => {
    const at = FORGET_BYTES + index * FORGET_ONE_BYTES;
    return { nodeId: readUint64(body, at), lookupCount: readUint64(body, at + 8) };
  });
  return { kind: 'forget', nodes };
}

function decodeRead(body: Buffer): RequestBody | undefined {
  if (body.length < READ_BYTES) return undefined;
  const offset = readUint64(body, 8);
  if (!Number.isSafeInteger(offset)) return undefined;
  return { kind: 'read', handle: readUint64(body, 0), offset, sizeBytes: body.readUInt32LE(16) };
}

function decodeReaddir(body: Buffer, withAttributes: boolean): RequestBody | undefined {
  const read = decodeRead(body);
  return read?.kind !== 'read' ? undefined : { ...read, kind: 'readdir', withAttributes };
}

function decodeRelease(body: Buffer, kind: 'release' | 'releasedir'): RequestBody | undefined {
  return body.length < RELEASE_BYTES ? undefined : { kind, handle: readUint64(body, 0) };
}

function decodeSeek(body: Buffer): RequestBody | undefined {
  if (body.length < SEEK_BYTES) return undefined;
  const offset = readUint64(body, 8);
  if (!Number.isSafeInteger(offset)) return undefined;
  return { kind: 'lseek', handle: readUint64(body, 0), offset, whence: body.readUInt32LE(16) };
}

function decodeInit(body: Buffer): RequestBody | undefined {
  if (body.length < INIT_BYTES) return undefined;
  return {
    kind: 'init',
    major: body.readUInt32LE(0),
    minor: body.readUInt32LE(4),
    maxReadAheadBytes: body.readUInt32LE(8),
    flags: body.readUInt32LE(12),
  };
}

/** A name ends with a zero byte. */
function withName(body: Buffer, start: number, make: (name: ByteString) => RequestBody): RequestBody | undefined {
  const end = body.indexOf(0, start);
  return end <= start ? undefined : make(body.toString('latin1', start, end) as ByteString);
}

/** Numbers above 2^53 lose precision; no node, handle or offset that was handed out is that large. */
function readUint64(bytes: Buffer, offset: number): number {
  return bytes.readUInt32LE(offset + 4) * 2 ** 32 + bytes.readUInt32LE(offset);
}
