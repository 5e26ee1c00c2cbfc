import childProcess from 'node:child_process';
import type * as ChildProcess from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import { PassThrough, Transform } from 'node:stream';
import { onTestFinished } from 'vitest';

import { sizeValue } from '../../src/console/options/option-values.ts';
import { serve } from '../../src/places/serve/serve.ts';

type Spawn = typeof ChildProcess.spawn;

/** The program of a server that `serveHere` replaces. Its argument is a JSON array of options and the directory. */
export const SERVER_HERE = 'server-in-this-process';

/** Until the test ends, this process serves what starts `SERVER_HERE`, also for modules that are loaded already. */
export function serveHere(): void {
  replaceSpawn((args) => {
    // Behind a shell, which would start it.
    const index = args.indexOf(SERVER_HERE);
    return index < 0 ? undefined : (JSON.parse(args[index + 1]!) as string[]);
  });
}

/** The same for what `serveCommand` returns: to start a process takes far longer. */
export function serveCommandsHere(): void {
  replaceSpawn((args) => (args[1] === 'serve' ? args.slice(3) : undefined));
}

/** `servedBy` returns the options and the directory of a server from the arguments of a program that is one. */
function replaceSpawn(servedBy: (args: readonly string[]) => readonly string[] | undefined): void {
  const real = childProcess.spawn;
  const put = (spawn: Spawn): void => {
    childProcess.spawn = spawn;
    syncBuiltinESMExports();
  };
  const replaced = (program: string, args: readonly string[], options: ChildProcess.SpawnOptions): unknown => {
    const served = servedBy(args);
    return served === undefined ? real(program, args, options) : new ServerHere(served);
  };
  put(replaced as Spawn);
  onTestFinished(() => put(real));
}

/** Passes each piece on in a turn of its own, as a pipe between processes does: the protocol class is not reentrant. */
function pipe(): Transform {
  return new Transform({
    transform: (bytes: Buffer, _encoding, done) => void setImmediate(() => done(null, Buffer.from(bytes))),
  });
}

/** What looks to `SftpConnection` like the process of a server. */
class ServerHere extends EventEmitter {
  readonly stdin: Transform = pipe();
  readonly stdout: Transform = pipe();
  readonly stderr: PassThrough = new PassThrough();
  readonly #end = new AbortController();

  /** `args`: options, and last the directory. */
  constructor(args: readonly string[]) {
    super();
    const quota = args[args.indexOf('--quota') + 1]!;
    const options = {
      directory: args.at(-1)!,
      isAppendOnly: args.includes('--append-only'),
      quotaBytes: args.includes('--quota') ? sizeValue(quota) : undefined,
    };
    const serving = serve(options, { input: this.stdin, output: this.stdout }, this.#end.signal);
    void serving.then(
      async () => this.#close(0, ''),
      async (error: unknown) => this.#close(1, String(error)),
    );
  }

  kill(): void {
    this.#end.abort(new Error('killed'));
  }

  async #close(code: number, message: string): Promise<void> {
    this.stderr.end(message);
    const flushed = once(this.stdout, 'end');
    this.stdout.end();
    await flushed;
    this.emit('close', code, null);
  }
}
