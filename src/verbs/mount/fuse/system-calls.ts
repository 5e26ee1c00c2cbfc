import { getSystemErrorName } from 'node:util';
import { loadCLibrary } from '../../../core/util/system-library.ts';

/** The system calls that a mount needs and Node does not offer, or not for this kind of descriptor. Linux only. */
export interface FuseCalls {
  /** Returns two connected sockets, which child processes do not inherit. */
  socketPair(): readonly [number, number];
  /**
   * Returns the descriptor that another process has sent to a socket (SCM_RIGHTS, unix(7)); `wait` if there is none
   * yet, and `closed` if none will come.
   */
  receiveDescriptor(socket: number): number | 'wait' | 'closed';
  setNonBlocking(descriptor: number): void;
  /** Returns the number of bytes read, or a negative error number. */
  read(descriptor: number, target: Uint8Array): number;
  /** Returns the number of bytes written, or a negative error number. */
  write(descriptor: number, bytes: Uint8Array): number;
  /** Waits in another thread until one of two descriptors is readable or closed. */
  waitReadable(first: number, second: number): Promise<void>;
}

type NumberFunction = (...values: unknown[]) => number;

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;
const MSG_CMSG_CLOEXEC = 0x4000_0000;
const SCM_RIGHTS = 1;
const F_GETFL = 3;
const F_SETFL = 4;
const O_NONBLOCK = 0o4000;
const POLLIN = 1;
const EAGAIN = 11;
const EINTR = 4;

/** `struct msghdr`, `struct iovec` and `struct cmsghdr` with one descriptor, on a machine with 64 bits. */
const MESSAGE_BYTES = 56;
const VECTOR_BYTES = 16;
const CONTROL_BYTES = 24;
const CONTROL_DATA_OFFSET = 16;
const POLL_BYTES = 8;
/** A lost wake-up must not keep the process from ending. */
const POLL_TIMEOUT_MS = 30_000;

/** Throws if koffi or the C library cannot be loaded. */
export function loadFuseCalls(): FuseCalls {
  const library = loadCLibrary();
  const bind = (declaration: string): NumberFunction => library.bind(declaration) as NumberFunction;
  const read = bind('int64_t read(int descriptor, void *target, uint64_t size)');
  const write = bind('int64_t write(int descriptor, const void *bytes, uint64_t size)');
  const socketpair = bind('int socketpair(int domain, int type, int protocol, void *sockets)');
  const recvmsg = bind('int64_t recvmsg(int socket, void *message, int flags)');
  const fcntl = bind('int fcntl(int descriptor, int command, ...)');
  const poll = library.bindAsync('int poll(void *descriptors, unsigned long count, int timeout)');
  const orErrno = (result: number): number => (result < 0 ? -library.errno() : result);
  const orThrow = (syscall: string, result: number): number => {
    if (result >= 0) return result;
    throw new Error(`${syscall}: ${getSystemErrorName(-library.errno())}`);
  };
  return {
    socketPair() {
      const sockets = new Int32Array(2);
      orThrow('socketpair', socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
      return [sockets[0]!, sockets[1]!];
    },
    receiveDescriptor(socket) {
      const { message, control } = prepareMessage(library.addressOf);
      const result = orErrno(recvmsg(socket, message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
      if (result === -EAGAIN || result === -EINTR) return 'wait';
      if (result <= 0 || control.readInt32LE(12) !== SCM_RIGHTS) return 'closed';
      return control.readInt32LE(CONTROL_DATA_OFFSET);
    },
    setNonBlocking(descriptor) {
      const flags = orThrow('fcntl', fcntl(descriptor, F_GETFL, 'int', 0));
      orThrow('fcntl', fcntl(descriptor, F_SETFL, 'int', flags | O_NONBLOCK));
    },
    read: (descriptor, target) => orErrno(read(descriptor, target, target.length)),
    write: (descriptor, bytes) => orErrno(write(descriptor, bytes, bytes.length)),
    async waitReadable(first, second) {
      const descriptors = Buffer.alloc(2 * POLL_BYTES);
      for (const [index, descriptor] of [first, second].entries()) {
        descriptors.writeInt32LE(descriptor, index * POLL_BYTES);
        descriptors.writeInt16LE(POLLIN, index * POLL_BYTES + 4);
      }
      await poll(descriptors, 2, POLL_TIMEOUT_MS);
      // Used here so that the memory is not collected before.
      descriptors.fill(0);
    },
  };
}

/** Returns a message header for a message of one byte with a descriptor. It refers to the other memory. */
function prepareMessage(addressOf: (bytes: Uint8Array) => bigint): {
  readonly message: Buffer;
  readonly control: Buffer;
} {
  // In one piece, so that nothing of it is collected before the rest.
  const memory = Buffer.alloc(MESSAGE_BYTES + VECTOR_BYTES + CONTROL_BYTES + 8);
  const message = memory.subarray(0, MESSAGE_BYTES);
  const vectorAt = MESSAGE_BYTES;
  const controlAt = vectorAt + VECTOR_BYTES;
  const address = addressOf(memory);
  memory.writeBigUInt64LE(address + BigInt(controlAt + CONTROL_BYTES), vectorAt);
  memory.writeBigUInt64LE(1n, vectorAt + 8);
  message.writeBigUInt64LE(address + BigInt(vectorAt), 16);
  message.writeBigUInt64LE(1n, 24);
  message.writeBigUInt64LE(address + BigInt(controlAt), 32);
  message.writeBigUInt64LE(BigInt(CONTROL_BYTES), 40);
  return { message, control: memory.subarray(controlAt, controlAt + CONTROL_BYTES) };
}
