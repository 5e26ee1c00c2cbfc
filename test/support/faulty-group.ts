import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

import type { Backend, StagedFile } from '../../src/core/backend/backend.ts';
import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { BackendError } from '../../src/core/errors.ts';
import type { BackendErrorKind } from '../../src/core/errors.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import { packsAt } from './grouped-repository.ts';
import { KeptTree } from './kept-tree.ts';
import { createPrng } from './prng.ts';
import { memoryDirectory, removeTree } from './temp-directory.ts';
import { TINY_CHUNKS } from './test-repository.ts';
import { threadsOfTests } from './test-threads.ts';

const SIZES = { blockRawBytes: 4096, packBytes: 16_384, segmentBytes: 65_536 };

/** Which operations on the group `b` fail, and how. */
export interface Fault {
  /** The number of the operation. */
  readonly at: number;
  /** `vanish`: from then on nothing is there. `full`: from then on nothing can be written. */
  readonly kind: 'vanish' | 'full';
}

/** Counts the operations on a group, with those on its staged files, and fails them from one on. */
export class FaultyGroup {
  count = 0;
  hasFired = false;
  readonly #fault: Fault | undefined;
  readonly #log: string[];

  constructor(fault: Fault | undefined, log: string[]) {
    this.#fault = fault;
    this.#log = log;
  }

  wrap(backend: Backend, name: string): Backend {
    const step = this.#step;
    return new Proxy(backend, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        if (property === 'close') return async () => target.close();
        return async (...given: unknown[]): Promise<unknown> => {
          this.#log.push(`${name} ${String(property)}`);
          if (name === 'b') step(property === 'stage' || property === 'publish');
          const result: unknown = await Reflect.apply(value, target, given);
          return property === 'stage' && name === 'b' ? this.#wrapFile(result as StagedFile) : result;
        };
      },
    });
  }

  #wrapFile(file: StagedFile): StagedFile {
    return {
      append: async (bytes) => {
        this.#step(true);
        await file.append(bytes);
      },
      flush: async () => file.flush(),
      publish: async (name, verify, isNew) => {
        this.#step(true);
        await file.publish(name, verify, isNew);
      },
      discard: async () => file.discard(),
    };
  }

  readonly #step = (writes: boolean): void => {
    this.count += 1;
    const fault = this.#fault;
    if (fault === undefined || this.count < fault.at || (fault.kind === 'full' && !writes)) return;
    this.hasFired = true;
    const kind: BackendErrorKind = fault.kind === 'full' ? 'full' : 'absent';
    throw new BackendError('the fault of this test', { kind });
  };
}

export interface Stage {
  readonly context: OperationContext;
  readonly source: string;
  readonly log: string[];
}

const kept = new Map<number, { readonly directory: string; readonly tree: KeptTree }>();

/** A repository with two groups and a snapshot. It is made once for all tests, and then again from memory. */
export async function makeStage(copies = 1): Promise<Stage> {
  if (!kept.has(copies)) {
    const { directory } = await makeFirst(copies);
    kept.set(copies, { directory, tree: new KeptTree(directory) });
  }
  const { directory, tree } = kept.get(copies)!;
  removeTree(directory);
  tree.restore();
  onTestFinished(() => removeTree(directory));
  return stageAt(directory);
}

function stageAt(directory: string): Stage & { readonly directory: string } {
  const backend = new LocalBackend(join(directory, 'repository'));
  const context: OperationContext = { backend, threads: threadsOfTests(), storeSizes: SIZES };
  return { directory, context, source: join(directory, 'source'), log: [] };
}

async function makeFirst(copies: number): Promise<ReturnType<typeof stageAt>> {
  const stage = stageAt(memoryDirectory());
  const { context, directory, source } = stage;
  mkdirSync(source);
  const groups = ['a', 'b'].map((name) => ({ name, place: join(directory, `group-${name}`) }));
  await initRepository(context, { groups, copies, chunker: TINY_CHUNKS, capacity: 256, encryption: 'never' });
  // Which group gets a pack depends on random ids.
  for (let number = 0; groups.some(({ place }) => packsAt(place).length < 2); number += 1) {
    writeFileSync(join(source, `one-${number}`), createPrng(100 + number).bytes(60_000));
    await backup(context, { sources: [source], cwd: source });
  }
  writeFileSync(join(source, 'two'), createPrng(2).bytes(60_000));
  return stage;
}

/** Runs an act while the group `b` fails. Returns what it threw, and how the fault went. */
export async function runWith(
  { context, log }: Stage,
  fault: Fault | undefined,
  act: (context: OperationContext) => Promise<unknown>,
): Promise<{ readonly error: unknown; readonly count: number; readonly hasFired: boolean }> {
  const group = new FaultyGroup(fault, log);
  const openPlace = async (place: string): Promise<Backend> => group.wrap(new LocalBackend(place), place.at(-1)!);
  const error = await act({ ...context, openPlace }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { error, count: group.count, hasFired: group.hasFired };
}
