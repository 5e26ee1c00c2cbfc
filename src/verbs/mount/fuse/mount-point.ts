import type { ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { MountError } from '../../../core/errors.ts';
import { startProgram } from '../../../core/util/programs.ts';
import type { FuseCalls } from './system-calls.ts';

/** Mounts and unmounts for every user: it is setuid root. Part of libfuse. */
const PROGRAM = 'fusermount3';
/** The program waits this long at most for the kernel after the connection to it is closed. */
const HELPER_END_MS = 2000;

interface MountPointOptions {
  /** An absolute path without symlinks. */
  readonly directory: string;
  /** Options of mount(8), besides those that every mount has. */
  readonly options: readonly string[];
}

/** A mounted FUSE file system. */
export interface MountPoint {
  /** The channel to the kernel; reading from it does not block. */
  readonly descriptor: number;
  /** Becomes readable when `wake` is called. */
  readonly wakeDescriptor: number;
  readonly wake: () => void;
  /** Returns whether it was unmounted. `whenUsed`: even if programs use it, which then get errors. */
  readonly unmount: (options: { readonly whenUsed: boolean }) => Promise<boolean>;
  /** Ends the connection to the kernel. */
  readonly close: () => Promise<void>;
}

/**
 * Has a file system mounted as mount.fuse3(8) does: `fusermount3` opens /dev/fuse, mounts, and sends the descriptor
 * through a socket. With `auto_unmount` it stays, and unmounts when the socket is closed, so that a process that
 * is killed leaves no dead mount. Version 3.14 does that only for root.
 * @throws MountError with what `fusermount3` says
 */
export async function createMountPoint(calls: FuseCalls, options: MountPointOptions): Promise<MountPoint> {
  const { directory } = options;
  const [socket, childSocket] = calls.socketPair();
  const mountOptions = ['ro', 'nosuid', 'nodev', 'fsname=ldm', 'subtype=ldm', 'auto_unmount', ...options.options];
  const child = startProgram([PROGRAM, '-o', mountOptions.join(','), '--', directory], {
    stdio: ['ignore', 'ignore', 'pipe', childSocket],
    variables: { _FUSE_COMMFD: '3' },
  });
  const failure = failureOf(child, directory);
  closeSync(childSocket);
  let descriptor: number;
  try {
    descriptor = await receiveDescriptor(calls, socket, failure);
    calls.setNonBlocking(descriptor);
  } catch (error) {
    closeSync(socket);
    throw error;
  }
  // It must not keep this process alive.
  child.stderr!.destroy();
  child.unref();
  const [wakeDescriptor, wakingDescriptor] = calls.socketPair();
  let isAwake = false;
  const wake = (): void => {
    if (!isAwake) closeSync(wakingDescriptor);
    isAwake = true;
  };
  return {
    descriptor,
    wakeDescriptor,
    wake,
    unmount: async ({ whenUsed }) => (await run(['-u', ...(whenUsed ? ['-z'] : []), '--', directory])) === 0,
    close: async () => {
      wake();
      for (const each of [wakeDescriptor, descriptor, socket]) closeSync(each);
      await Promise.race([child.exitCode === null ? ended(child) : undefined, sleep(HELPER_END_MS)]);
    },
  };
}

async function receiveDescriptor(calls: FuseCalls, socket: number, failure: Promise<MountError>): Promise<number> {
  for (;;) {
    const received = calls.receiveDescriptor(socket);
    if (typeof received === 'number') return received;
    if (received === 'closed') throw await failure;
    await calls.waitReadable(socket, socket);
  }
}

/** Resolves with the error if the program ends before it has mounted anything. */
async function failureOf(child: ChildProcess, directory: string): Promise<MountError> {
  return await new Promise((resolve) => {
    let said = '';
    child.stderr!.on('data', (bytes: Buffer) => (said += bytes.toString()));
    child.on('error', (cause: NodeJS.ErrnoException) => {
      const isMissing = cause.code === 'ENOENT';
      const reason = isMissing ? `the program ${PROGRAM} is not installed` : `${PROGRAM}: ${cause.message}`;
      const code = isMissing ? 'install-fuse' : 'read-without-mount';
      resolve(new MountError(`cannot mount at ${directory}: ${reason}`, { advice: { code }, cause }));
    });
    child.on('close', () => {
      const reason = said.trim().replaceAll(/\s*\n\s*/g, '; ') || `${PROGRAM} says nothing about the reason`;
      const code = /user_allow_other/.test(said) ? 'allow-other-in-fuse-conf' : 'read-without-mount';
      resolve(new MountError(`cannot mount at ${directory}: ${reason}`, { advice: { code } }));
    });
  });
}

/** Runs the program without output, and returns its exit code. */
async function run(words: readonly string[]): Promise<number | undefined> {
  const child = startProgram([PROGRAM, ...words], { stdio: 'ignore' });
  return await new Promise((resolve) => {
    child.on('error', () => resolve(undefined));
    child.on('close', (code) => resolve(code ?? undefined));
  });
}

async function ended(child: ChildProcess): Promise<void> {
  await new Promise<void>((resolve) => void child.on('exit', () => resolve()));
}
