import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { CancelledError } from '../../src/core/errors.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import type { FaultOptions } from '../support/faulty-backend.ts';
import { createPrng } from '../support/prng.ts';
import type { Prng } from '../support/prng.ts';
import { RepositoryModel } from '../support/repository-model.ts';
import { lengthOfRun, seedsOf } from '../support/seeds.ts';
import { SMALL_SIZES, simulatedProcess } from '../support/simulated-process.ts';
import { SmallSource } from '../support/small-source.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { threadsOfTests, withoutThreads } from '../support/test-threads.ts';

const commandCountOf = (seed: number): number => lengthOfRun(seed, 300, 50);
const SNAPSHOT_COUNT_MAX = 8;

type Command = (run: ModelRun, context: OperationContext) => Promise<string>;

/** How often each command comes. Backups and deletes roughly balance. */
const COMMANDS: readonly (readonly [number, Command])[] = [
  [12, backUp],
  [7, deleteSome],
  [4, undeleteOne],
  [4, compactSome],
  [2, repairAll],
];

class ModelRun {
  readonly prng: Prng;
  readonly model: RepositoryModel;
  readonly log: string[] = [];
  readonly commandCount: number;
  faultCount = 0;

  constructor(seed: number, directory: string) {
    this.commandCount = commandCountOf(seed);
    this.prng = createPrng(seed);
    const sourceDirectory = join(directory, 'source');
    mkdirSync(sourceDirectory);
    const source = new SmallSource(sourceDirectory, this.prng);
    this.model = new RepositoryModel(source, join(directory, 'target'), this.prng);
  }

  async run(): Promise<void> {
    await this.model.initialize();
    for (let step = 1; step <= this.commandCount; step += 1) {
      if (this.prng.int(3) === 0) await this.runFaulty();
      else this.log.push(await this.pickCommand()(this, this.healthyContext()));
      if (this.prng.int(12) === 0) this.loseCheckpoints();
      // Mostly without threads, which take far longer for what is so small.
      const verify = async (): Promise<void> => this.verify();
      if (this.prng.int(6) === 0) await (this.prng.int(8) === 0 ? verify() : withoutThreads(verify));
      if (step % 100 === 0) await this.model.assertEmptiesOut();
    }
    assert(this.faultCount > this.commandCount / 10, `only ${this.faultCount} faults fired`);
  }

  /** Many small packs, or few large ones. */
  healthyContext(): OperationContext {
    const sizes = this.prng.int(2) === 0 ? {} : { storeSizes: SMALL_SIZES };
    return { backend: this.model.disk, threads: threadsOfTests(), ...sizes };
  }

  /** The command fails, or its process dies, at a random operation; what it had committed by then must hold. */
  async runFaulty(): Promise<void> {
    const options: FaultOptions & Required<Pick<FaultOptions, 'only'>> = {
      failAt: 1 + this.prng.int(this.prng.int(2) === 0 ? 12 : 40),
      mode: this.prng.int(3) === 0 ? 'error' : 'crash',
      torn: this.prng.int(2) === 0,
      errno: this.prng.int(2) === 0 ? 'EIO' : 'ENOSPC',
      only: this.prng.int(3) === 0 ? () => true : isChange,
    };
    const interruption = new Interruption(this.prng);
    const backend = new FaultyBackend(this.model.disk, { ...options, only: interruption.counting(options.only) });
    const command = this.pickCommand();
    try {
      const done = await command(this, { ...simulatedProcess(backend), signal: interruption.signal });
      this.log.push(`${done} (${backend.fired ? 'in spite of a fault' : 'no fault'})`);
      assert(!(backend.fired && options.mode === 'crash'), 'the command took its own death for success');
    } catch (error) {
      if (!backend.fired && !(error instanceof CancelledError)) throw error;
      this.log.push(`${command.name} fails: ${String(error)}`);
    }
    if (backend.fired) this.faultCount += 1;
  }

  pickCommand(): Command {
    if (this.model.present.size >= SNAPSHOT_COUNT_MAX) return deleteSome;
    let ticket = this.prng.int(COMMANDS.reduce((total, [weight]) => total + weight, 0));
    for (const [weight, command] of COMMANDS) {
      ticket -= weight;
      if (ticket < 0) return command;
    }
    return backUp;
  }

  loseCheckpoints(): void {
    const count = this.prng.pick([1, 1, 2]);
    this.model.loseCheckpoints(count);
    this.log.push(`lost ${count} checkpoints`);
  }

  async verify(): Promise<void> {
    const { model, prng } = this;
    await model.assertCounts();
    if (prng.int(3) === 0) await model.check({ backend: model.disk, threads: threadsOfTests() });
    if (model.gone.length > 0) await model.assertGone(prng.pick(model.gone));
    const ids = [...model.present.keys()];
    for (const id of ids) if (prng.int(4) === 0) await model.assertRestores(id);
  }
}

/** In one run of four a person presses ^C at some operation, before or after the fault. */
class Interruption {
  readonly #controller = new AbortController();
  #operationsLeft: number;

  constructor(prng: Prng) {
    this.#operationsLeft = prng.int(4) === 0 ? prng.int(30) : Infinity;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  counting(only: NonNullable<FaultOptions['only']>): NonNullable<FaultOptions['only']> {
    return (operation, name) => {
      this.#operationsLeft -= 1;
      if (this.#operationsLeft < 0) this.#controller.abort(new CancelledError('SIGINT'));
      return only(operation, name);
    };
  }
}

async function backUp({ model, prng }: ModelRun, context: OperationContext): Promise<string> {
  const changes = Array.from({ length: prng.int(5) }, () => model.source.mutate());
  const roots = model.source.pickRoots();
  await model.backup(context, roots);
  return `backup of ${roots.join()} after: ${changes.join('; ')}`;
}

async function deleteSome({ model, prng }: ModelRun, context: OperationContext): Promise<string> {
  const ids = [...model.present.keys()].filter(() => prng.int(3) === 0);
  if (ids.length === 0) return 'nothing to delete';
  const reclaim = prng.int(4) === 0;
  await model.delete(context, ids, reclaim);
  return `delete of ${ids.length}${reclaim ? ' with reclaim' : ''}`;
}

async function undeleteOne({ model, prng }: ModelRun, context: OperationContext): Promise<string> {
  const ids = [...model.deleted.keys()];
  if (ids.length === 0) return 'nothing to undelete';
  await model.undelete(context, prng.pick(ids));
  return 'undelete';
}

async function compactSome({ model, prng }: ModelRun, context: OperationContext): Promise<string> {
  const options = prng.int(3) === 0 ? {} : { maxUnusedPercent: prng.pick([0, 5, 20, 50, 100]) };
  await model.compact(context, options);
  return `compact ${JSON.stringify(options)}`;
}

async function repairAll({ model }: ModelRun, context: OperationContext): Promise<string> {
  await model.repair(context);
  return 'repair';
}

function isChange(operation: string, name: string): boolean {
  return (
    !name.startsWith('locks/') && ['create', 'append', 'sync', 'rename', 'remove', 'syncDirectory'].includes(operation)
  );
}

test.each(seedsOf(2, 100))('random commands leave what a Map model says (seed %i)', async (seed) => {
  const run = new ModelRun(seed, memoryDirectory());
  const failure = await run.run().then(
    () => undefined,
    (error: unknown) => error,
  );
  if (failure !== undefined) {
    throw new Error(`seed ${seed}, after ${run.log.length} commands:\n${run.log.slice(-12).join('\n')}`, {
      cause: failure,
    });
  }
  await run.model.assertEmptiesOut();
  expect(run.log.length).toBeGreaterThanOrEqual(run.commandCount);
});
