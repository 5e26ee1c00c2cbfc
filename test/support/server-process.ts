import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';

const RETRY_MS = 20;
const START_MS = 300_000;

/** A server on loopback, which tests start, kill and start again on the same port. */
export class ServerProcess {
  readonly port: number;
  readonly #command: readonly string[];
  readonly #ping: { readonly question: string; readonly answer: string };
  #child: ChildProcess | undefined;

  /** `ping`: what the server answers once it works. */
  constructor(given: {
    readonly port: number;
    readonly command: readonly string[];
    readonly ping: { readonly question: string; readonly answer: string };
  }) {
    this.port = given.port;
    this.#command = given.command;
    this.#ping = given.ping;
  }

  async start(): Promise<void> {
    const [program, ...rest] = this.#command;
    const child = spawn(program!, rest, { stdio: 'ignore' });
    this.#child = child;
    const deadline = performance.now() + START_MS;
    while (!(await this.#answers())) {
      if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
      if (performance.now() > deadline) throw new Error(`${program} does not answer`);
    }
    // Another server may have answered, which has the port.
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
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
