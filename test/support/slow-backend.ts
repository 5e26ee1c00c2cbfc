import { setImmediate } from 'node:timers/promises';

import { FaultyBackend } from './faulty-backend.ts';

/** A place whose reads take a while, the earlier ones longer. It counts the reads that are under way at once. */
export class SlowBackend extends FaultyBackend {
  override readonly readsAtOnce = 4;
  readonly #counts = new Map<string, { running: number; most: number; alone: number }>();

  override async read(name: string): Promise<Buffer> {
    return await this.#count(name.slice(0, name.indexOf('/')), async () => super.read(name));
  }

  /** A small pack is read from its beginning where its contents are read from its footer. */
  override async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    const isPack = name.startsWith('packs/');
    const what = isPack && offset === 0 ? 'footers' : isPack ? 'blocks' : 'others';
    await this.#count(what, async () => super.readRange(name, offset, target));
  }

  /** Counts from now on. */
  forget(): void {
    this.#counts.clear();
  }

  /** The most reads that were under way at once: of files of a directory, of footers, or of blocks. */
  most(what: string): number {
    return this.#counts.get(what)?.most ?? 0;
  }

  /** How many reads began while there was no other one of that kind. */
  alone(what: string): number {
    return this.#counts.get(what)?.alone ?? 0;
  }

  async #count<T>(what: string, read: () => Promise<T>): Promise<T> {
    const count = this.#counts.get(what) ?? { running: 0, most: 0, alone: 0 };
    this.#counts.set(what, count);
    if (count.running === 0) count.alone += 1;
    count.running += 1;
    count.most = Math.max(count.most, count.running);
    try {
      for (let turn = count.running; turn < 8; turn += 1) await setImmediate();
      return await read();
    } finally {
      count.running -= 1;
    }
  }
}
