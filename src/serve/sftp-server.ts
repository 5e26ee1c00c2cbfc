import type { Readable, Writable } from 'node:stream';
import { SFTP } from 'ssh2/lib/protocol/SFTP.js';
import type { SftpProtocol } from 'ssh2/lib/protocol/SFTP.js';

import { ServeError } from '../errors.ts';
import type { ServedDirectory } from './served-directory.ts';
import { answerRequests, withGreeting } from './sftp-answers.ts';

/** What the protocol class asks of a channel of the SSH protocol. A pipe has neither a window nor packets. */
const CHANNEL = { id: 0, window: Infinity, packetSize: 2 ** 20, state: 'open' };

export interface Streams {
  readonly input: Readable;
  readonly output: Writable;
}

/**
 * Answers the requests of an SFTP client (protocol version 3, draft-ietf-secsh-filexfer-02) until the input ends or the
 * output is closed. Each request is done before the next one begins.
 * @param signal - ends it, with its reason as the error
 * @throws ServeError if the client does not speak SFTP
 */
export async function serveSftp(directory: ServedDirectory, streams: Streams, signal: AbortSignal): Promise<void> {
  const { input, output } = streams;
  try {
    await new Promise<void>((resolve, reject) => {
      const send = (bytes: Uint8Array): void => {
        // A pipe or socket as standard output takes everything at once; any other stream makes the client wait.
        if (!output.write(bytes) && output.writableNeedDrain) input.pause();
      };
      const protocol = createProtocol(withGreeting(send, directory), resolve);
      answerRequests({ protocol, directory, send, onDefect: reject });
      protocol.on('error', (error: Error) => reject(notSftp(error)));
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      if (signal.aborted) reject(signal.reason as Error);
      output.on('error', () => resolve()).on('close', () => resolve());
      output.on('drain', () => input.resume());
      input.on('error', reject).on('end', () => resolve());
      input.on('data', (bytes: Buffer) => {
        try {
          protocol.push(bytes);
        } catch (error) {
          // For a packet of an impossible length, the class fails in its own code.
          reject(notSftp(error as Error));
        }
      });
    });
  } finally {
    input.removeAllListeners('data');
    input.pause();
    directory.closeAll();
  }
}

function createProtocol(send: (bytes: Uint8Array) => void, onClose: () => void): SftpProtocol {
  const carrier = {
    _remoteIdentRaw: Buffer.from('SSH-2.0-OpenSSH_9'),
    channelData: (_id: number, bytes: Buffer) => send(bytes),
    channelClose: onClose,
  };
  const channel = { type: 'session' as const, incoming: { id: 0 }, outgoing: { ...CHANNEL } };
  return new SFTP({ _protocol: carrier }, channel, { server: true });
}

function notSftp(cause: Error): ServeError {
  return new ServeError(`the client does not follow the SFTP protocol: ${cause.message}`, { cause });
}
