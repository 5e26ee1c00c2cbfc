import * as fc from 'fast-check';
import { describe, expect } from 'vitest';
import { FilterState } from '../../../src/core/ldm/filter-state.ts';
import { planFilter } from '../../../src/core/ldm/formulas.ts';
import { readImage } from '../../../src/core/ldm/image-reader.ts';
import { LdmFilter, NO_PACK } from '../../../src/core/ldm/ldm-filter.ts';
import { PackTable } from '../../../src/core/ldm/pack-table.ts';
import { FilterModel } from './filter-model.ts';
import { locationOf } from './filter-support.ts';
import { imageOf, sourceOf } from './image-support.ts';
import { testProperty } from '../../support/property.ts';

type Command = (model: FilterModel) => void;

const CHUNK_COUNT = 60;
const chunks = fc.nat(CHUNK_COUNT - 1);

/** Packs of a filter that is saved as an image. */
const PACK_COUNT = 3;
const packs = fc.nat(PACK_COUNT - 1);

/** Changes as functions, so that a failure prints what was done. */
const changes = [
  { weight: 6, arbitrary: chunks.map((chunk) => named(`retain ${chunk}`, (model) => model.retain(chunk))) },
  { weight: 5, arbitrary: chunks.map((chunk) => named(`release ${chunk}`, (model) => model.release(chunk))) },
  { weight: 2, arbitrary: chunks.map((chunk) => named(`forget ${chunk}`, (model) => model.forget(chunk))) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 40 }).map(reserve) },
];

const commands: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ chunk: chunks, at: fc.nat(1e6) }).map(place) },
  { weight: 1, arbitrary: chunks.map(lose) },
  { weight: 1, arbitrary: fc.constant(named('restore', (model) => model.restore())) },
  { weight: 1, arbitrary: fc.constant(named('rebuild', (model) => model.filter.rebuildCounters())) },
  ...changes,
);

/** Changes after which the filter can be saved as an image: every chunk is in a pack. */
const savableChanges = fc.array(
  fc.oneof({ weight: 8, arbitrary: fc.record({ chunk: chunks, at: packs }).map(place) }, ...changes),
  { maxLength: 150, size: 'max' },
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
  testProperty('does what a plain Map does, whatever is done to it', (check) => {
    const property = fc.property(
      fc.record({ capacity: fc.integer({ min: 1, max: 8 }), hashes: fc.integer({ min: 1, max: 9 }), seed: fc.nat() }),
      fc.array(commands, { maxLength: 120, size: 'max' }),
      ({ capacity, hashes, seed }, sequence) => {
        const model = new FilterModel(new LdmFilter(planFilter({ capacity, hashes })), CHUNK_COUNT, seed);
        for (const command of sequence) command(model);
        model.expectAgreement();
      },
    );
    check(property, { numRuns: 200 });
  });

  testProperty('that is loaded, changed and saved is byte for byte one that was filled anew', async (check) => {
    const plans = fc.record({ capacity: fc.integer({ min: 1, max: 60 }), hashes: fc.integer({ min: 1, max: 9 }) });
    const property = fc.asyncProperty(
      plans,
      fc.nat(),
      fc.array(savableChanges, { minLength: 2, maxLength: 4 }),
      async (plan, seed, rounds) => {
        const model = new FilterModel(new LdmFilter(planFilter(plan)), CHUNK_COUNT, seed);
        for (const round of rounds) {
          for (const change of round) change(model);
          const image = await imageOf(stateOf(model.filter));
          expect(image.equals(await imageOf(stateOf(model.filledAnew())))).toBe(true);
          model.adopt((await readImage(sourceOf(image))).filter);
          model.expectAgreement();
        }
      },
    );
    await check(property, { numRuns: 40 });
  });
});

function stateOf(filter: LdmFilter): FilterState {
  const table = new PackTable();
  for (let pack = 0; pack < PACK_COUNT; pack++) {
    table.addInfo({
      id: pack.toString(16).padStart(64, '0'),
      kind: 'data',
      sizeBytes: 1,
      chunkCount: 1,
      storedBytes: 1,
      isBorrowed: false,
    });
  }
  return new FilterState(filter, table);
}
