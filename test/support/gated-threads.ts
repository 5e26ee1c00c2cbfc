import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import type { ChunkIdKey } from '../../src/core/crypto/chunk-hasher.ts';
import { temporaryDirectory } from './temp-directory.ts';
import { waitUntil } from './wait-until.ts';

const GATE = 0x6c646d67;
/** Indices of the words of a gate: what it is, and whether a thread has begun it, may go on, and has gone on. */
const [MARK, BEGUN, OPEN, DONE] = [0, 1, 2, 3] as const;

/** Runs before the program of the threads in each message, and does the tasks that are gates. */
const LISTENER = `
  import { parentPort, workerData } from 'node:worker_threads';
  parentPort.on('message', ({ id, slot, task }) => {
    const buffer = task?.bytes?.buffer;
    if (!(buffer instanceof SharedArrayBuffer) || buffer.byteLength !== 16) return;
    const flags = new Int32Array(buffer);
    if (flags[${MARK}] !== ${GATE} || Atomics.compareExchange(workerData.claims, slot, 0, 1) !== 0) return;
    Atomics.store(flags, ${BEGUN}, 1);
    Atomics.wait(flags, ${OPEN}, 0);
    Atomics.store(flags, ${DONE}, 1);
    parentPort.postMessage({ id, result: new Uint8Array(20) });
  });
`;

/** A task that keeps its thread busy until it is opened. For threads with the program of `gatedProgram`. */
export class Gate {
  readonly task: { readonly name: 'hash'; readonly bytes: Uint8Array; readonly key: ChunkIdKey };
  readonly #flags = new Int32Array(new SharedArrayBuffer(16));

  constructor(key: ChunkIdKey) {
    this.#flags[MARK] = GATE;
    this.task = { name: 'hash', bytes: new Uint8Array(this.#flags.buffer), key };
  }

  get isDone(): boolean {
    return Atomics.load(this.#flags, DONE) === 1;
  }

  async begun(): Promise<void> {
    await waitUntil(() => Atomics.load(this.#flags, BEGUN) === 1, 'a thread beginning the task');
  }

  open(): void {
    Atomics.store(this.#flags, OPEN, 1);
    Atomics.notify(this.#flags, OPEN);
  }
}

/** Returns the program of the threads with gates. Other tasks run as usual. */
export function gatedProgram(): string {
  const directory = temporaryDirectory();
  const program = createRequire(import.meta.url).resolve('#task-thread');
  writeFileSync(join(directory, 'gate.mjs'), LISTENER);
  const path = join(directory, 'thread.mjs');
  writeFileSync(path, `import './gate.mjs';\nimport ${JSON.stringify(pathToFileURL(program).href)};\n`);
  return path;
}
