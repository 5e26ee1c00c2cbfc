import { Worker } from 'node:worker_threads';

const TEXT_BYTES = 500;

/** Ends the process if nothing is noted for too long: a test that loops without end could not even say where. */
const PROGRAM = `
const { writeSync } = require('node:fs');
const { workerData: { beats, text, seconds } } = require('node:worker_threads');
let last = -1;
let idle = 0;
setInterval(() => {
  const now = Atomics.load(beats, 0);
  idle = now === last ? idle + 1 : 0;
  last = now;
  if (idle < seconds) return;
  writeSync(2, 'nothing has happened for ' + seconds + ' s since: ' + Buffer.from(text).toString().replaceAll('\\0', '') + '\\n');
  process.kill(process.pid, 'SIGKILL');
}, 1000);`;

export class Watchdog {
  readonly #beats = new Int32Array(new SharedArrayBuffer(4));
  readonly #text = new Uint8Array(new SharedArrayBuffer(TEXT_BYTES));
  readonly #worker: Worker;

  constructor(seconds: number) {
    const workerData = { beats: this.#beats, text: this.#text, seconds };
    this.#worker = new Worker(PROGRAM, { eval: true, workerData });
  }

  /** `what` begins now. */
  note(what: string): void {
    this.#text.fill(0);
    this.#text.set(Buffer.from(what).subarray(0, TEXT_BYTES));
    Atomics.add(this.#beats, 0, 1);
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
