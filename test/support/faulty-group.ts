import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Backend, StagedFile } from '../../src/backend/backend.ts';
import { LocalBackend } from '../../src/backend/local-backend.ts';
import { BackendError } from '../../src/errors.ts';
import type { BackendErrorKind } from '../../src/errors.ts';
import { backup } from '../../src/operations/backup.ts';
import type { OperationContext } from '../../src/operations/context.ts';
import { initRepository } from '../../src/operations/init.ts';
import { createPrng } from './prng.ts';
import { memoryDirectory } from './temp-directory.ts';
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

/** A repository with two groups and a snapshot. */
export async function makeStage(copies = 1): Promise<Stage> {
  const directory = memoryDirectory();
  const source = join(directory, 'source');
  mkdirSync(source);
  const backend = new LocalBackend(join(directory, 'repository'));
  const context: OperationContext = { backend, threads: threadsOfTests(), storeSizes: SIZES };
  const groups = ['a', 'b'].map((name) => ({ name, place: join(directory, `group-${name}`) }));
  await initRepository(context, { groups, copies, chunker: TINY_CHUNKS, capacity: 4096, encryption: 'never' });
  writeFileSync(join(source, 'one'), createPrng(1).bytes(60_000));
  await backup(context, { sources: [source], cwd: source });
  writeFileSync(join(source, 'two'), createPrng(2).bytes(60_000));
  return { context, source, log: [] };
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
