import type { Readable, Writable } from 'node:stream';
import { SFTP } from 'ssh2/lib/protocol/SFTP.js';
import type { SftpProtocol } from 'ssh2/lib/protocol/SFTP.js';

import { ServeError } from '../../core/errors.ts';
import { PacketSplitter } from './packet-splitter.ts';
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
      const send = (bytes: Uint8Array): void => void output.write(bytes);
      const protocol = createProtocol(withGreeting(send, directory), resolve);
      answerRequests({ protocol, directory, send, onDefect: reject });
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      if (signal.aborted) reject(signal.reason as Error);
      output.on('error', () => resolve()).on('close', () => resolve());
      input.on('error', reject);
      pushPackets(protocol, streams, { onEnd: resolve, onError: (error) => reject(notSftp(error)) });
    });
  } finally {
    input.removeAllListeners('data');
    output.removeAllListeners('drain');
    input.pause();
    directory.closeAll();
  }
}

/**
 * Passes on one packet at a time. A pipe or socket as standard output takes every answer at once; any other stream makes
 * the client wait, because a piece of input may have requests for 500 MB.
 */
function pushPackets(
  protocol: SftpProtocol,
  { input, output }: Streams,
  { onEnd, onError }: { readonly onEnd: () => void; readonly onError: (error: Error) => void },
): void {
  const splitter = new PacketSplitter();
  let hasFailed = false;
  let isWaiting = false;
  const fail = (error: Error): void => {
    hasFailed = true;
    onError(error);
  };
  const goOn = (rest: Buffer): void => {
    isWaiting = false;
    if (!push(rest)) return;
    // A paused stream may say that it has ended.
    if (input.readableEnded) onEnd();
    else input.resume();
  };
  /** Returns false if the rest waits. */
  const push = (bytes: Buffer): boolean => {
    try {
      for (let start = 0; start < bytes.length;) {
        if (hasFailed) return true;
        if (output.writableNeedDrain) {
          input.pause();
          const rest = bytes.subarray(start);
          isWaiting = true;
          output.once('drain', () => goOn(rest));
          return false;
        }
        const end = splitter.endOf(bytes, start);
        protocol.push(bytes.subarray(start, end));
        start = end;
      }
    } catch (error) {
      fail(error as Error);
    }
    return true;
  };
  protocol.on('error', fail);
  input.on('data', push);
  input.on('end', () => {
    if (!isWaiting) onEnd();
  });
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
