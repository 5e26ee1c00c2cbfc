import { X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { createSecureContext } from 'node:tls';
import { RefusedError, UsageError } from '../../core/errors.ts';

/** Where an agent listens. */
export type AgentPlace =
  | { readonly kind: 'socket'; readonly path: string }
  | {
      readonly kind: 'tls';
      readonly host: string;
      readonly port: number;
      /** PEM files. The certificate may be self-signed: clients compare its fingerprint. */
      readonly certificateFile: string;
      readonly keyFile: string;
    };

/** Linux allows 108 bytes with the terminating zero. */
const SOCKET_PATH_BYTES_MAX = 107;

/**
 * Makes room for a Unix socket. One that a killed agent has left is removed.
 * @throws RefusedError if an agent answers there, or if other users could replace the socket
 * @throws UsageError if the path is too long
 */
export async function prepareSocket(path: string): Promise<void> {
  if (Buffer.byteLength(path) > SOCKET_PATH_BYTES_MAX) {
    throw new UsageError(`the path of the socket is too long: ${path}`, {
      hint: `Choose one of at most ${SOCKET_PATH_BYTES_MAX} bytes.`,
    });
  }
  try {
    // Only the user of the agent may connect.
    if (!existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    assertUnderControl(dirname(path));
    if (!existsSync(path)) return;
    // The system refuses connections to any other file as well, and that is not ours to remove.
    if (!lstatSync(path).isSocket()) throw new RefusedError(`the agent cannot listen on ${path}: it is another file`);
    if (await isAnswered(path)) throw new RefusedError(`another agent listens on ${path}`, { hint: 'End it first.' });
    rmSync(path);
  } catch (cause) {
    if (cause instanceof RefusedError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new RefusedError(`the agent cannot listen on ${path}: ${reason}`, { cause });
  }
}

/**
 * Another user who may rename the socket or a directory above it could put a socket of their own there, and clients
 * would send it their token.
 * @throws RefusedError
 */
function assertUnderControl(directory: string): void {
  const isTrusted = ({ uid, mode }: Stats): boolean =>
    (uid === 0 || uid === process.getuid?.()) && ((mode & 0o022) === 0 || (mode & 0o1000) !== 0);
  for (let at = realpathSync(directory); ; at = dirname(at)) {
    if (!isTrusted(statSync(at))) {
      throw new RefusedError(`the agent cannot listen in ${directory}: other users can rename files in ${at}`, {
        hint: 'Choose a directory that only you can change, such as one in your home directory.',
      });
    }
    if (at === dirname(at)) return;
  }
}

/** The permissions of the directory may be wider than those of the socket. */
export function protectSocket(path: string): void {
  chmodSync(path, 0o600);
}

async function isAnswered(path: string): Promise<boolean> {
  return await new Promise((resolve, reject) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') resolve(false);
      else reject(error);
    });
  });
}

/**
 * Reads a certificate and its key.
 * @throws UsageError
 */
export function readCertificate({ certificateFile, keyFile }: Extract<AgentPlace, { kind: 'tls' }>): {
  readonly certificate: Buffer;
  readonly key: Buffer;
  /** SHA-256 of the certificate in DER, in hex. */
  readonly fingerprint: string;
} {
  try {
    const certificate = readFileSync(certificateFile);
    const key = readFileSync(keyFile);
    // Fails if the key is not that of the certificate.
    createSecureContext({ cert: certificate, key });
    return { certificate, key, fingerprint: fingerprintOf(new X509Certificate(certificate)) };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`the certificate cannot be used: ${reason}`, { cause });
  }
}

export function fingerprintOf({ fingerprint256 }: { readonly fingerprint256: string }): string {
  return fingerprint256.replaceAll(':', '').toLowerCase();
}
