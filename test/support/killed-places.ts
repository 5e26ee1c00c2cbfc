import type { Backend, StagedFile } from '../../src/core/backend/backend.ts';

const CHANGES: ReadonlySet<PropertyKey> = new Set([
  'stage',
  'append',
  'flush',
  'publish',
  'move',
  'remove',
  'barrier',
  'settle',
]);

/** What a process that was killed would have thrown. */
export class KilledError extends Error {}

/** Counts the changes of all places together. From one of them on, nothing is done any more, as after a kill. */
export class KilledPlaces {
  count = 0;
  readonly #killedAt: number;

  constructor(killedAt: number = Infinity) {
    this.#killedAt = killedAt;
  }

  wrap<T extends Backend>(backend: T): T {
    return this.#wrap(backend);
  }

  #wrap<T extends object>(inner: T): T {
    return new Proxy(inner, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        if (property === 'close' || property === 'clockAheadMs') return value.bind(target) as unknown;
        return async (...given: unknown[]): Promise<unknown> => {
          if (CHANGES.has(property)) this.count += 1;
          if (this.count >= this.#killedAt) throw new KilledError('killed');
          const result: unknown = await Reflect.apply(value, target, given);
          return property === 'stage' ? this.#wrap(result as StagedFile) : result;
        };
      },
    });
  }
}
