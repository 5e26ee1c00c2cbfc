import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';

import { ServerEndedError, onFreePort } from './free-port.ts';

const RETRY_MS = 20;
/** A guard against a server that hangs. */
const START_MS = 300_000;

/** What a server answers once it works. */
export interface Ping {
  readonly question: string;
  readonly answer: string;
}

/** A server on loopback, which tests start, kill and start again on the same port. */
export class ServerProcess {
  readonly port: number;
  readonly #command: readonly string[];
  readonly #ping: Ping;
  #child: ChildProcess | undefined;

  private constructor(port: number, command: readonly string[], ping: Ping) {
    this.port = port;
    this.#command = command;
    this.#ping = ping;
  }

  /** Starts a server on a free port. */
  static async start(commandFor: (port: number) => readonly string[], ping: Ping): Promise<ServerProcess> {
    return await onFreePort(async (port) => {
      const server = new ServerProcess(port, commandFor(port), ping);
      await server.start();
      return server;
    });
  }

  async start(): Promise<void> {
    const [program, ...rest] = this.#command;
    const child = spawn(program!, rest, { stdio: 'ignore' });
    this.#child = child;
    const deadline = performance.now() + START_MS;
    for (let isUp = false; !isUp;) {
      isUp = await this.#answers();
      if (child.exitCode !== null) throw new ServerEndedError(`${program} ended with ${child.exitCode}`);
      if (!isUp && performance.now() > deadline) throw new Error(`${program} does not answer`);
    }
  }

  /** With SIGKILL by default. Returns when the process has ended. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  /** Whether the server answers; waits a moment if not. */
  async #answers(): Promise<boolean> {
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(this.port, '127.0.0.1', () => socket.write(this.#ping.question));
      socket.once('data', (data) => {
        resolve(data.toString());
        socket.destroy();
      });
      socket.once('error', () => setTimeout(() => resolve(''), RETRY_MS));
      socket.once('end', () => setTimeout(() => resolve(''), RETRY_MS));
    });
    return answer.startsWith(this.#ping.answer);
  }
}
