import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

import { SftpBackend } from '../../src/places/sftp/sftp-backend.ts';
import { temporaryDirectory } from './temp-directory.ts';

/** Where Debian, Fedora, Arch and Alpine have the server of OpenSSH, which needs no daemon. */
const PLACES = ['/usr/lib/openssh', '/usr/libexec/openssh', '/usr/lib/ssh', '/usr/libexec'];

const server = PLACES.map((place) => join(place, 'sftp-server')).find((path) => existsSync(path));

const SERVER = [server!];

/** Why there is no server for the test; undefined if there is one. */
export const sftpProblem: string | undefined = server === undefined ? 'needs the SFTP server of OpenSSH' : undefined;

/** Returns a repository on a server of its own, which the test ends. */
export function sftpBackend(path: string, command: readonly string[] = SERVER): SftpBackend {
  const backend = new SftpBackend({ location: `sftp:test:${path}`, command, path }, { retryForMs: 0 });
  onTestFinished(async () => backend.close());
  return backend;
}

/** The command of a server that has no extensions of the protocol, unlike that of OpenSSH. */
export function plainServer(): string[] {
  return [process.execPath, join(import.meta.dirname, 'plain-server.mjs'), server!];
}

/** The command of a server of which some answers about the size of an open file are wrong in the byte at an offset. */
export function lyingServer(offset: number, count: number): string[] {
  return [process.execPath, join(import.meta.dirname, 'lying-server.mjs'), server!, String(offset), String(count)];
}

/** The command of the server of OpenSSH. It ignores the arguments for ssh. */
export function openSshServer(...options: readonly string[]): string[] {
  return ['sh', '-c', `exec "$0" ${options.join(' ')}`, server!];
}

/**
 * Like `plainServer`, but far cheaper to start. It opens directories, and refuses extensions that are used all the same.
 */
export function serverWithoutExtensions(): string[] {
  return openSshServer('-P', 'posix-rename,statvfs,fstatvfs,hardlink,fsync,lsetstat,limits,expand-path,copy-data');
}

/** The command of a server that writes what it does to a file. */
export function loggingServer(file: string): string[] {
  return ['sh', '-c', 'exec "$0" -e -l VERBOSE 2>"$1"', server!, file];
}

/** A server that is killed again and again. */
export interface CuttingServer {
  /** As for a shell. */
  readonly command: readonly string[];
  /** How often it was killed so far. */
  readonly countCuts: () => number;
}

/** Returns a server that is killed about every so many bytes, `cuts` times. */
export function cuttingServer(bytes: number, cuts: number, inner: readonly string[] = SERVER): CuttingServer {
  const directory = join(temporaryDirectory(), 'cuts');
  mkdirSync(directory);
  const program = join(import.meta.dirname, 'cutting-server.mjs');
  return {
    command: [process.execPath, program, JSON.stringify(inner), directory, String(bytes), String(cuts)],
    countCuts: () => readdirSync(directory).length,
  };
}

/** The command of a server that writes a byte to a file for each wait. */
export function countingWaits(file: string, inner: readonly string[] = openSshServer()): string[] {
  return [process.execPath, join(import.meta.dirname, 'waits-server.mjs'), file, ...inner];
}

/**
 * Returns a server that gets one request at a time, and the command for a shell that is run once, before the request that
 * matches the last of the patterns, after one that matches each before it.
 */
export function interruptedServer(command: string, patterns: readonly string[], inner: readonly string[]): string[] {
  const program = join(import.meta.dirname, 'interrupted-server.mjs');
  return [process.execPath, program, command, JSON.stringify(patterns), ...inner];
}

/** The command of a server that answers nothing from the first fsync on until this many more bytes were written. */
export function holdingServer(bytes: number): string[] {
  return [process.execPath, join(import.meta.dirname, 'holding-server.mjs'), server!, String(bytes)];
}

/** The command of a server that may have so few files open that it announces hardly any handles. */
export function narrowServer(descriptors = 8): string[] {
  return ['sh', '-c', `ulimit -n ${descriptors}; exec "$0"`, server!];
}
