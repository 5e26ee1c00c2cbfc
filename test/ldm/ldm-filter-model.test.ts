import * as fc from 'fast-check';
import { describe, it } from 'vitest';
import { planFilter } from '../../src/ldm/formulas.ts';
import { LdmFilter, NO_PACK } from '../../src/ldm/ldm-filter.ts';
import { FilterModel } from './filter-model.ts';
import { locationOf } from './filter-support.ts';

type Command = (model: FilterModel) => void;

const CHUNK_COUNT = 60;
const chunks = fc.nat(CHUNK_COUNT - 1);

/** Commands as functions, so that a failure prints what was done. */
const commands: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ chunk: chunks, at: fc.nat(1e6) }).map(place) },
  { weight: 1, arbitrary: chunks.map(lose) },
  { weight: 6, arbitrary: chunks.map((chunk) => named(`retain ${chunk}`, (model) => model.retain(chunk))) },
  { weight: 5, arbitrary: chunks.map((chunk) => named(`release ${chunk}`, (model) => model.release(chunk))) },
  { weight: 2, arbitrary: chunks.map((chunk) => named(`forget ${chunk}`, (model) => model.forget(chunk))) },
  { weight: 1, arbitrary: fc.constant(named('restore', (model) => model.restore())) },
  { weight: 1, arbitrary: fc.constant(named('rebuild', (model) => model.filter.rebuildCounters())) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 40 }).map(reserve) },
);

function named(name: string, command: Command): Command {
  return Object.assign(command, { toString: () => name });
}

function place({ chunk, at }: { chunk: number; at: number }): Command {
  return named(`place ${chunk} at ${at}`, (model) => model.place(chunk, locationOf(at)));
}

function lose(chunk: number): Command {
  return named(`lose ${chunk}`, (model) => model.place(chunk, { ...locationOf(0), packIndex: NO_PACK }));
}

function reserve(count: number): Command {
  return named(`reserve ${count}`, (model) => model.filter.reserve(count));
}

describe('LdmFilter', () => {
  it('does what a plain Map does, whatever is done to it', () => {
    const property = fc.property(
      fc.record({ capacity: fc.integer({ min: 1, max: 8 }), hashes: fc.integer({ min: 1, max: 9 }), seed: fc.nat() }),
      fc.array(commands, { maxLength: 120, size: 'max' }),
      ({ capacity, hashes, seed }, sequence) => {
        const model = new FilterModel(new LdmFilter(planFilter({ capacity, hashes })), CHUNK_COUNT, seed);
        for (const command of sequence) command(model);
        model.expectAgreement();
      },
    );
    fc.assert(property, { numRuns: 200 });
  });
});
