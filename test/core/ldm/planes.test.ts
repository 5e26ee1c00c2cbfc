import { describe, expect, it } from 'vitest';
import { planeOf } from '../../../src/core/ldm/plane.ts';
import { CounterArray } from '../../../src/core/ldm/counters.ts';
import { PlaneSet } from '../../../src/core/ldm/planes.ts';
import { ID_WORDS, readIdWords, startOf, strideOf } from '../../../src/core/ldm/positions.ts';
import { createPrng, type Prng } from '../../support/prng.ts';

const SEED = 4711;
const MS = [97, 101, 1009];
const KS = [3, 4];

/** The naive model: a domain has a set of positions. */
interface ModelPlane {
  readonly positions: number;
  readonly hashes: number;
  readonly taken: Set<number>;
}

describe('PlaneSet', () => {
  it(`answers like naive sets, whatever is set, flipped and removed (seed ${SEED})`, () => {
    const prng = createPrng(SEED);
    let lookups = 0;
    let found = 0;
    let most = 0;
    for (let round = 0; round < 12; round++) {
      const set = new PlaneSet();
      const model = new Map<string, ModelPlane>();
      for (let step = 0; step < 150; step++) {
        change(prng, set, model);
        most = Math.max(most, model.size);
        expect(set.size).toBe(model.size);
        for (let left = 10; left > 0; left--) {
          const offset = prng.int(3);
          const id = prng.bytes(20 + offset);
          const expected = modelCandidates(model, id, offset);
          expect([...set.candidates(id, offset)].sort(), `round ${round}, step ${step}`).toEqual(expected);
          lookups++;
          found += Number(expected.length > 0);
        }
      }
    }
    // Neither answer is rare, and some slices are full.
    expect(found / lookups).toBeGreaterThan(0.2);
    expect(found / lookups).toBeLessThan(0.995);
    expect(most).toBeGreaterThan(40);
  });

  it('opens a second slice for the domain after the 32nd, and uses free slots again', () => {
    const set = new PlaneSet();
    const full = { positions: 101, hashes: 3, plane: planeWith(101, () => true) };
    const empty = { ...full, plane: planeWith(101, () => false) };
    const names = Array.from({ length: 33 }, (_, index) => `domain ${index}`);
    for (const name of names.slice(0, 32)) set.set(name, full);
    const bytesOfOne = set.memoryBytes;
    expect(bytesOfOne).toBe(101 * 4);
    set.set(names[32]!, full);
    expect(set.memoryBytes).toBe(bytesOfOne + 16);
    const id = createPrng(1).bytes(20);
    expect(set.candidates(id, 0)).toHaveLength(33);
    set.remove(names[7]!);
    set.set('another', empty);
    expect(set.memoryBytes).toBe(bytesOfOne + 16);
    expect(set.candidates(id, 0)).toEqual(names.filter((name) => name !== names[7]));
    set.remove(names[32]!);
    expect(set.memoryBytes).toBe(bytesOfOne);
    for (const name of [...names, 'another']) set.remove(name);
    expect([set.memoryBytes, set.size, set.candidates(id, 0).length]).toEqual([0, 0, 0]);
  });

  it('never misses a chunk that a filter counts', () => {
    const prng = createPrng(SEED);
    const ids = prng.bytes(20 * 500);
    const counters = new CounterArray(4801, 7);
    const words = new Uint32Array(ID_WORDS);
    for (let offset = 0; offset < ids.length; offset += 20) {
      readIdWords(ids, offset, words);
      counters.add(startOf(words, 0, 4801), strideOf(words, 0, 4801));
    }
    const set = new PlaneSet();
    set.set('a', { positions: 4801, hashes: 7, plane: planeOf(counters) });
    set.set('b', { positions: 4801, hashes: 7, plane: new Uint8Array(601) });
    for (let offset = 0; offset < ids.length; offset += 20) expect(set.candidates(ids, offset)).toEqual(['a']);
  });
});

function change(prng: Prng, set: PlaneSet, model: Map<string, ModelPlane>): void {
  const domainId = `domain ${prng.int(80)}`;
  const known = model.get(domainId);
  const action = prng.int(10);
  if (action < 2) {
    set.remove(domainId);
    model.delete(domainId);
  } else if (action < 4 && known !== undefined) {
    const flips = [...new Set(Array.from({ length: prng.int(30) }, () => prng.int(known.positions)))];
    set.applyFlips(domainId, Uint32Array.from(flips));
    for (const position of flips) if (!known.taken.delete(position)) known.taken.add(position);
  } else {
    const [positions, hashes] = prng.int(4) === 0 ? [prng.pick(MS), prng.pick(KS)] : [MS[0]!, KS[0]!];
    const taken = new Set(Array.from({ length: prng.int(positions) }, () => prng.int(positions)));
    set.set(domainId, { positions, hashes, plane: planeWith(positions, (position) => taken.has(position)) });
    model.set(domainId, { positions, hashes, taken });
  }
}

function modelCandidates(model: ReadonlyMap<string, ModelPlane>, ids: Uint8Array, offset: number): string[] {
  const words = new Uint32Array(ID_WORDS);
  readIdWords(ids, offset, words);
  const has = ({ positions, hashes, taken }: ModelPlane): boolean => {
    const [start, stride] = [startOf(words, 0, positions), strideOf(words, 0, positions)];
    return Array.from({ length: hashes }, (_, index) => (start + index * stride) % positions).every((p) =>
      taken.has(p),
    );
  };
  return [...model]
    .filter(([, plane]) => has(plane))
    .map(([domainId]) => domainId)
    .sort();
}

function planeWith(positions: number, isTaken: (position: number) => boolean): Uint8Array {
  const plane = new Uint8Array(Math.ceil(positions / 8));
  for (let position = 0; position < positions; position++) {
    if (isTaken(position)) plane[position >> 3]! |= 1 << (position & 7);
  }
  return plane;
}
