import type { FuseServerOptions } from './file-node.ts';
import type { DirectoryListing, FileNode, NodeAttribute, OpenFile } from './file-node.ts';
import { findData, findHole } from './file-node.ts';
import { NodeTable, validSecondsOf } from './node-table.ts';
import {
  ERRNO,
  INIT_ASYNC_READ,
  INIT_DO_READDIRPLUS,
  INIT_PARALLEL_DIROPS,
  INIT_POSIX_ACL,
  INIT_READDIRPLUS_AUTO,
  OPEN_CACHE_DIRECTORY,
  OPEN_KEEP_CACHE,
  OUT_HEADER_BYTES,
  PROTOCOL_MAJOR,
  PROTOCOL_MINOR,
  PROTOCOL_MINOR_MIN,
  SEEK_DATA,
  SEEK_HOLE,
} from './protocol.ts';
import { ReplyEncoder, writeReplyHeader } from './replies.ts';
import type { DirectoryEntry } from './replies.ts';
import type { FuseRequest } from './requests.ts';

type Of<Kind extends FuseRequest['kind']> = Extract<FuseRequest, { readonly kind: Kind }>;

const INIT_FLAGS = INIT_ASYNC_READ | INIT_DO_READDIRPLUS | INIT_READDIRPLUS_AUTO | INIT_PARALLEL_DIROPS;
const MAX_BACKGROUND = 32;
/** The longest reply to a read: the kernel asks for 128 KiB at a time, or less. */
const READ_REPLY_BYTES = OUT_HEADER_BYTES + 128 * 1024;
/** Far more than the kernel asks for. */
const LIST_BYTES_MAX = 128 * 1024;
/** Names that always exist and are in no listing: the directory itself and the one above. */
const DOTS = ['.', '..'] as const;

/** What the kernel and a file system have agreed on: nodes, open files and the answers to requests. */
export class FuseSession {
  readonly #options: Omit<FuseServerOptions, 'calls' | 'descriptor'>;
  readonly #send: (reply: Uint8Array) => void;
  readonly #encoder = new ReplyEncoder();
  readonly #nodes: NodeTable;
  readonly #files = new Map<number, OpenFile>();
  readonly #directories = new Map<number, DirectoryListing>();
  #lastHandle = 0;
  /** Memory for replies to reads, which are filled while other requests are answered. */
  readonly #freeBuffers: Buffer[] = [];

  constructor(
    options: Omit<FuseServerOptions, 'calls' | 'descriptor'> & { readonly send: (reply: Uint8Array) => void },
  ) {
    this.#options = options;
    this.#send = options.send;
    this.#nodes = new NodeTable(options.root);
  }

  /** Answers a request, at once or later. Never throws. */
  handle(request: FuseRequest): void {
    const fail = (error: unknown): void => {
      this.#options.onFailure(error);
      this.#fail(request, ERRNO.EIO);
    };
    try {
      const answering = this.#dispatch(request);
      if (answering instanceof Promise) answering.catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  #dispatch(request: FuseRequest): void | Promise<void> {
    switch (request.kind) {
      case 'init':
        return this.#init(request);
      case 'forget':
        return this.#nodes.forget(request.nodes);
      case 'read':
        return this.#read(request);
      case 'readdir':
        return this.#readDirectory(request);
      case 'lseek':
        return this.#seek(request);
      case 'release':
        this.#files.delete(request.handle);
        return this.#send(this.#encoder.empty(request.unique));
      case 'releasedir':
        this.#directories.delete(request.handle);
        return this.#send(this.#encoder.empty(request.unique));
      case 'statfs':
        return this.#send(this.#encoder.statistics(request.unique));
      case 'access':
        // The kernel itself refuses to write, and to execute what is not executable.
        return this.#send(this.#encoder.empty(request.unique));
      case 'interrupt':
        // Has no reply. The request itself is answered when it is done: a process that is only sent a signal, as Go
        // programs often are, does not expect that reading a file fails with EINTR.
        return undefined;
      case 'destroy':
        return this.#send(this.#encoder.empty(request.unique));
      case 'change':
        return this.#fail(request, ERRNO.EROFS);
      case 'malformed':
        return this.#fail(request, ERRNO.EINVAL);
      case 'unknown':
        // The kernel does not ask again.
        return this.#fail(request, ERRNO.ENOSYS);
      default: {
        const node = this.#nodes.get(request.nodeId);
        return node === undefined ? this.#fail(request, ERRNO.ENOENT) : this.#ask(request, node);
      }
    }
  }

  /** Answers what one node knows. */
  #ask(
    request: Of<'lookup' | 'getattr' | 'open' | 'opendir' | 'readlink' | 'getxattr' | 'listxattr'>,
    node: FileNode,
  ): void | Promise<void> {
    const { unique } = request;
    const validSeconds = validSecondsOf(node);
    switch (request.kind) {
      case 'lookup':
        return whenKnown(node.lookup(request.name), (child) => {
          if (child === undefined && !node.isConstant) this.#fail(request, ERRNO.ENOENT);
          else if (child === undefined) this.#send(this.#encoder.absent(unique, validSeconds));
          else this.#send(this.#encoder.entry(unique, this.#nodes.entryOf(child, node)));
        });
      case 'getattr':
        return this.#send(this.#encoder.attributes(unique, { attributes: node.attributes(), validSeconds }));
      case 'readlink':
        return this.#send(this.#encoder.bytes(unique, Buffer.from(node.linkTarget(), 'latin1')));
      case 'open':
        return whenKnown(node.open(), (file) => {
          this.#lastHandle += 1;
          this.#files.set(this.#lastHandle, file);
          this.#send(this.#encoder.opened(unique, this.#lastHandle, OPEN_KEEP_CACHE));
        });
      case 'opendir':
        return whenKnown(node.list(), (listing) => {
          this.#lastHandle += 1;
          this.#directories.set(this.#lastHandle, listing);
          const flags = node.isConstant ? OPEN_KEEP_CACHE | OPEN_CACHE_DIRECTORY : 0;
          this.#send(this.#encoder.opened(unique, this.#lastHandle, flags));
        });
      case 'getxattr':
        return this.#sendAttribute(request, node.extendedAttributes());
      case 'listxattr': {
        const names = node.extendedAttributes().map(({ name }) => `${name}\0`);
        return this.#sendSized(request, Buffer.from(names.join(''), 'latin1'));
      }
    }
  }

  #init(request: Of<'init'>): void {
    const { unique, major, minor, maxReadAheadBytes, flags } = request;
    if (major !== PROTOCOL_MAJOR || minor < PROTOCOL_MINOR_MIN) return this.#fail(request, ERRNO.EINVAL);
    const wanted = INIT_FLAGS | (this.#options.checksPermissions ? INIT_POSIX_ACL : 0);
    const reply = {
      minor: Math.min(minor, PROTOCOL_MINOR),
      maxReadAheadBytes,
      flags: (flags & wanted) >>> 0,
      maxBackground: MAX_BACKGROUND,
    };
    this.#send(this.#encoder.init(unique, reply));
    this.#options.onReady();
  }

  #read(request: Of<'read'>): void | Promise<void> {
    const file = this.#files.get(request.handle);
    if (file === undefined) return this.#fail(request, ERRNO.EBADF);
    const neededBytes = OUT_HEADER_BYTES + request.sizeBytes;
    const free = neededBytes <= READ_REPLY_BYTES ? this.#freeBuffers.pop() : undefined;
    const reply = free ?? Buffer.allocUnsafeSlow(Math.max(neededBytes, READ_REPLY_BYTES));
    const target = reply.subarray(OUT_HEADER_BYTES, OUT_HEADER_BYTES + request.sizeBytes);
    const finish = (readBytes: number): void => {
      const lengthBytes = OUT_HEADER_BYTES + readBytes;
      writeReplyHeader(reply, lengthBytes, 0, request.unique);
      this.#send(reply.subarray(0, lengthBytes));
      if (reply.length === READ_REPLY_BYTES) this.#freeBuffers.push(reply);
    };
    return whenKnown(file.read(request.offset, target), finish);
  }

  #seek(request: Of<'lseek'>): void | Promise<void> {
    const { unique, handle, offset, whence } = request;
    const file = this.#files.get(handle);
    if (file === undefined) return this.#fail(request, ERRNO.EBADF);
    if (whence !== SEEK_DATA && whence !== SEEK_HOLE) return this.#fail(request, ERRNO.EINVAL);
    return whenKnown(file.holes(), (holes) => {
      const found = (whence === SEEK_DATA ? findData : findHole)(file.sizeBytes, holes, offset);
      if (found === undefined) this.#fail(request, ERRNO.ENXIO);
      else this.#send(this.#encoder.offset(unique, found));
    });
  }

  /** Offset 0 is `.`, 1 is `..`, and 2 the first entry of the listing. */
  #readDirectory(request: Of<'readdir'>): void {
    const listing = this.#directories.get(request.handle);
    const node = this.#nodes.get(request.nodeId);
    if (listing === undefined || node === undefined) return this.#fail(request, ERRNO.EBADF);
    const { unique, offset, withAttributes } = request;
    const sizeBytes = Math.min(request.sizeBytes, LIST_BYTES_MAX);
    const encoder = this.#encoder;
    encoder.beginList();
    for (let at = offset; at < listing.count + DOTS.length; at += 1) {
      const dot = DOTS[at];
      const entry = dot === undefined ? listing.entryAt(at - DOTS.length) : entryOfDot(dot, node);
      if (encoder.listBytesWith(entry, withAttributes) > sizeBytes) break;
      const child = dot === undefined && withAttributes ? listing.nodeAt(at - DOTS.length) : undefined;
      encoder.addToList(entry, at + 1, withAttributes, child && this.#nodes.entryOf(child, node));
    }
    this.#send(encoder.list(unique));
  }

  #sendAttribute(request: Of<'getxattr'>, attributes: readonly NodeAttribute[]): void {
    const found = attributes.find(({ name }) => name === request.name);
    if (found === undefined) this.#fail(request, ERRNO.ENODATA);
    else this.#sendSized(request, found.value);
  }

  /** With size 0, only the length is wanted. */
  #sendSized(request: Of<'getxattr' | 'listxattr'>, bytes: Uint8Array): void {
    const { unique, sizeBytes } = request;
    if (sizeBytes === 0) this.#send(this.#encoder.length(unique, bytes.length));
    else if (sizeBytes < bytes.length) this.#fail(request, ERRNO.ERANGE);
    else this.#send(this.#encoder.bytes(unique, bytes));
  }

  #fail({ unique }: Pick<FuseRequest, 'unique'>, errno: number): void {
    this.#send(this.#encoder.failure(unique, errno));
  }
}

/** The number of the directory above is not known here, and nothing relies on it. */
function entryOfDot(name: string, node: FileNode): DirectoryEntry {
  const { inode, mode } = node.attributes();
  return { name: name as DirectoryEntry['name'], inode, mode };
}

/** Goes on at once with a value that is known already, so that the answer needs no turn of the event loop. */
function whenKnown<T>(value: T | Promise<T>, use: (value: T) => void): void | Promise<void> {
  if (value instanceof Promise) return value.then(use);
  return use(value);
}
