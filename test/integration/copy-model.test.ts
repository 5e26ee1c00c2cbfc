import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { CancelledError, LdmError } from '../../src/core/errors.ts';
import { copySnapshots } from '../../src/verbs/copy/copy.ts';
import { CopyModel } from '../support/copy-model.ts';
import { FaultyBackend, SimulatedCrash } from '../support/faulty-backend.ts';
import type { MemoryBackend } from '../support/memory-backend.ts';
import { createPrng } from '../support/prng.ts';
import type { Prng } from '../support/prng.ts';
import { lengthOfRun, seedsOf } from '../support/seeds.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { SmallSource } from '../support/small-source.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { withoutThreads } from '../support/test-threads.ts';

const commandCountOf = (seed: number): number => lengthOfRun(seed, 80, 10);

class CopyRun {
  readonly model: CopyModel;
  readonly log: string[] = [];
  faultCount = 0;
  readonly #prng: Prng;
  readonly #commandCount: number;

  constructor(seed: number, directory: string) {
    this.#commandCount = commandCountOf(seed);
    this.#prng = createPrng(seed);
    mkdirSync(join(directory, 'source'));
    this.model = new CopyModel(new SmallSource(join(directory, 'source'), this.#prng), join(directory, 'target'));
  }

  async run(): Promise<void> {
    await this.model.initialize();
    for (let step = 0; step < this.#commandCount; step += 1) {
      const [from, to] = this.#pickTwo();
      const choice = this.#prng.int(12);
      if (choice < 3) await this.#backUp(from);
      else if (choice < 6) await this.#copy(from, to);
      else if (choice < 8) await this.#copyInterrupted(from, to);
      else if (choice < 9) await this.#backUpBoth(from, to);
      else if (choice < 11) await this.#delete(from);
      else await this.model.compact(from);
      this.log.push(`${choice}: ${this.#nameOf(from)} ${this.#nameOf(to)}`);
      if (this.#prng.int(3) === 0) await this.model.verify(this.#prng.pick([from, to]));
    }
    for (const disk of this.model.disks) await this.model.verify(disk);
  }

  async #backUp(disk: MemoryBackend): Promise<void> {
    for (let count = this.#prng.int(5); count > 0; count -= 1) this.model.source.mutate();
    await this.model.backup(disk, this.model.source.pickRoots());
  }

  async #copy(from: MemoryBackend, to: MemoryBackend): Promise<void> {
    const ids = this.model.snapshotsIn(from).map(([id]) => id);
    const some = ids.filter(() => this.#prng.int(2) === 0);
    await this.model.copy(from, to, this.#prng.int(2) === 0 ? [] : some);
  }

  /** Fails, dies or is interrupted at a random operation of either side, and is repeated. */
  async #copyInterrupted(from: MemoryBackend, to: MemoryBackend): Promise<void> {
    const mode = this.#prng.pick(['error', 'crash'] as const);
    const failAt = 1 + this.#prng.int(80);
    const controller = new AbortController();
    const isCancelled = this.#prng.int(4) === 0;
    const only = (): boolean => {
      if (isCancelled) controller.abort(new CancelledError('SIGINT'));
      return true;
    };
    const isSource = this.#prng.int(4) === 0;
    const fault = { failAt, mode, torn: true, errno: this.#prng.pick(['EIO', 'ENOSPC'] as const), only };
    const faulty = new FaultyBackend(isSource ? from : to, fault);
    const [source, backend] = isSource ? [faulty, to] : [from, faulty];
    const context = { ...simulatedProcess(source), signal: controller.signal };
    try {
      await copySnapshots(context, { destination: { backend } });
    } catch (error) {
      if (!(error instanceof LdmError || error instanceof SimulatedCrash)) throw error;
      this.faultCount += 1;
    }
    await this.model.copy(from, to);
  }

  /** What was copied is found by a backup. */
  async #backUpBoth(from: MemoryBackend, to: MemoryBackend): Promise<void> {
    const roots = this.model.source.pickRoots();
    await this.model.backup(from, roots);
    await this.model.copy(from, to);
    const { summary } = await this.model.backup(to, roots);
    expect(summary).toMatchObject({ dataAdded: 0, dataBlobs: 0, treeBlobs: 0 });
  }

  async #delete(disk: MemoryBackend): Promise<void> {
    const ids = this.model.snapshotsIn(disk).map(([id]) => id);
    const some = ids.filter(() => this.#prng.int(3) === 0);
    if (some.length > 0) await this.model.delete(disk, some, this.#prng.int(2) === 0);
  }

  #pickTwo(): [MemoryBackend, MemoryBackend] {
    const from = this.#prng.pick(this.model.disks);
    return [from, this.#prng.pick(this.model.disks.filter((disk) => disk !== from))];
  }

  #nameOf(disk: MemoryBackend): number {
    return this.model.disks.indexOf(disk);
  }
}

test.each(seedsOf(2, 100))('random commands leave what was copied between repositories (seed %i)', async (seed) => {
  const run = new CopyRun(seed, memoryDirectory());
  const failure = await withoutThreads(async () => run.run()).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (failure !== undefined) {
    throw new Error(`seed ${seed}, after ${run.log.length} commands:\n${run.log.slice(-12).join('\n')}`, {
      cause: failure,
    });
  }
  expect(run.faultCount).toBeGreaterThan(0);
});
