import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { CorruptDataError, FilterFullError, LdmError } from '../../src/core/errors.ts';
import { fillRandomIds } from '../../src/core/ldm/random-ids.ts';
import type { ErasableFilter, MembershipFilter, MergeableFilter } from '../../src/filters/family/membership-filter.ts';
import { createPrng, type Prng } from '../support/prng.ts';
import { expectRefused, expectRefusedOrMeant, forgeries, mutations } from './membership-hostile.ts';
import { runSteps, stepKinds } from './membership-model.ts';
import { SEED, filled, randomId, randomIds, type MembershipSubject } from './membership-subject.ts';
import { inSoak } from '../support/soak.ts';
import { testProperty } from '../support/property.ts';

const PROBES = inSoak(100_000, 40_000);
/** A right prediction fails once in 1.7 million measurements. */
const SIGMAS = 5;

/** What every structure of the filter family must do. */
export function describeMembership<F extends MembershipFilter>(name: string, subject: MembershipSubject<F>): void {
  describe(`${name} keeps the contract of filters`, () => {
    testAnswers(subject);
    testRates(subject);
    testSaving(subject);
    testHostileBytes(subject);
    if (subject.mergeable === true) testMerging(subject);
  });
}

function testAnswers<F extends MembershipFilter>(subject: MembershipSubject<F>): void {
  test('an empty one has nothing', () => {
    const random = createPrng(SEED);
    const filter = subject.make({ capacity: 100, falsePositiveRate: 0.01 });
    expect([filter.elements, filter.falsePositiveRate()]).toEqual([0, 0]);
    expect(filter.memoryBytes).toBeGreaterThanOrEqual(0);
    expect(randomIds(random, subject, 1000).some((id) => filter.has(id))).toBe(false);
  });

  testProperty('there are no false negatives, whatever is added, deleted, saved and loaded', (check) => {
    const length = subject.idBytes;
    const id = fc.uint8Array(length === undefined ? { maxLength: 40 } : { minLength: length, maxLength: length });
    const setUp = fc.record({
      pool: fc.uniqueArray(id, { minLength: 1, maxLength: 60, selector: (bytes) => bytes.join() }),
      falsePositiveRate: fc.constantFrom(0.3, 0.05, 0.001),
      steps: fc.array(fc.tuple(fc.constantFrom(...stepKinds), fc.nat()), { maxLength: 200 }),
    });
    check(
      fc.property(setUp, ({ pool, falsePositiveRate, steps }) => {
        runSteps(subject, pool, falsePositiveRate, steps);
      }),
      { numRuns: inSoak(150, 50) },
    );
  });

  test('an id may be changed after it was added', () => {
    const random = createPrng(SEED);
    const filter = subject.make({ capacity: 100, falsePositiveRate: 0.001 });
    const id = randomId(random, subject);
    const copy = Uint8Array.from(id);
    filter.add(id);
    id.fill(0);
    expect(filter.has(copy)).toBe(true);
  });

  test('one that is full says so, and has what it had', () => {
    const random = createPrng(SEED);
    const filter = subject.make({ capacity: 50, falsePositiveRate: 0.01 });
    const accepted: Uint8Array[] = [];
    for (const id of randomIds(random, subject, 400)) {
      const elementsBefore = filter.elements;
      try {
        filter.add(id);
        accepted.push(id);
      } catch (error) {
        expect(error).toBeInstanceOf(FilterFullError);
        expect(filter.elements).toBe(elementsBefore);
        break;
      }
    }
    expect(accepted.length).toBeGreaterThanOrEqual(50);
    for (const id of accepted) expect(filter.has(id)).toBe(true);
  });
}

function testRates<F extends MembershipFilter>(subject: MembershipSubject<F>): void {
  test.each([0.05, 0.01])(
    `at a target of %d the measured rate is the predicted one within ${SIGMAS} sigma of ${PROBES} probes (seed ${SEED})`,
    (falsePositiveRate) => {
      const random = createPrng(SEED);
      const capacity = subject.rateCapacity ?? 4000;
      const filter = subject.make({ capacity, falsePositiveRate });
      const ids = randomIds(random, subject, capacity);
      if (subject.static !== true) {
        for (const id of ids.slice(0, capacity / 2)) filter.add(id);
        expectPredicted(subject, filter, random);
      }
      for (const id of subject.static === true ? ids : ids.slice(capacity / 2)) filter.add(id);
      expectPredicted(subject, filter, random);
      // The target is met: the filling varies by chance, and whole numbers of hashes are not the best ones.
      expect(filter.falsePositiveRate()).toBeLessThan(falsePositiveRate * 1.1);
      if (subject.erasable !== true) return;
      for (const id of ids.slice(0, capacity / 2)) (filter as unknown as ErasableFilter).delete(id);
      expectPredicted(subject, filter, random);
    },
  );
}

function expectPredicted<F extends MembershipFilter>(subject: MembershipSubject<F>, filter: F, random: Prng): void {
  const predicted = filter.falsePositiveRate();
  const id = randomId(random, subject);
  let hits = 0;
  for (let probe = 0; probe < PROBES; probe++) {
    fillRandomIds(id, () => random.next());
    if (filter.has(id)) hits++;
  }
  if (subject.exact === true) {
    expect([predicted, hits]).toEqual([0, 0]);
    return;
  }
  expect(predicted).toBeGreaterThan(0);
  const allowed = SIGMAS * Math.sqrt(PROBES * predicted * (1 - predicted)) + 1;
  expect(hits, `false positives of ${PROBES}`).toBeLessThanOrEqual(PROBES * predicted + allowed);
  if (subject.predictsUpperBound === true) return;
  expect(hits, `false positives of ${PROBES}`).toBeGreaterThanOrEqual(PROBES * predicted - allowed);
}

function testSaving<F extends MembershipFilter>(subject: MembershipSubject<F>): void {
  test('what is loaded is what was saved, and goes on in the same way', () => {
    const random = createPrng(SEED);
    const [filter, ids] = filled(subject, 500, random);
    const bytes = filter.save();
    const kept = Buffer.from(bytes);
    const loaded = subject.load(bytes);
    expect(Buffer.compare(loaded.save(), kept)).toBe(0);
    const facts = (of: F): unknown[] => [of.name, of.elements, of.falsePositiveRate()];
    expect(facts(loaded)).toEqual(facts(filter));
    if (subject.sizeDependsOnOrder !== true) expect(loaded.memoryBytes).toBe(filter.memoryBytes);
    const differing = [...ids, ...randomIds(random, subject, 5000)].filter((id) => loaded.has(id) !== filter.has(id));
    expect(differing).toEqual([]);
    expect(ids.every((id) => loaded.has(id))).toBe(true);

    bytes.fill(0xff);
    expect(Buffer.compare(loaded.save(), kept), 'shares no memory with the bytes').toBe(0);
    const later = randomId(random, subject);
    for (const each of [filter, loaded]) {
      if (subject.static === true) expect(() => each.add(later)).toThrow(FilterFullError);
      else each.add(later);
    }
    expect(Buffer.compare(loaded.save(), filter.save())).toBe(0);
  });

  test('an empty one can be saved', () => {
    const bytes = subject.make({ capacity: 1, falsePositiveRate: 0.3 }).save();
    expect(Buffer.compare(subject.load(bytes).save(), bytes)).toBe(0);
  });
}

function testHostileBytes<F extends MembershipFilter>(subject: MembershipSubject<F>): void {
  const bytes = (): Uint8Array => filled(subject, 8, createPrng(SEED))[0].save();

  test('every truncation is refused, and every byte too many', () => {
    const whole = bytes();
    for (let length = 0; length < whole.length; length++) {
      expectRefused(subject, `${length} bytes`, whole.subarray(0, length));
    }
    for (const more of [1, 8]) {
      expect(() => subject.load(Buffer.concat([whole, Buffer.alloc(more)]))).toThrow(CorruptDataError);
    }
  });

  test(`damage is refused${subject.lacksChecksum === true ? ', or read as what the bytes say' : ''}`, () => {
    for (const [what, damaged] of mutations(bytes(), SEED)) {
      if (subject.lacksChecksum === true) expectRefusedOrMeant(subject, what, damaged);
      else expectRefused(subject, what, damaged);
    }
  });

  test('bytes with a forged checksum are refused, or read as what they say; quickly, and without much memory', () => {
    for (const [what, forged] of forgeries(bytes())) expectRefusedOrMeant(subject, what, forged);
  });
}

function testMerging<F extends MembershipFilter>(subject: MembershipSubject<F>): void {
  type Mergeable = F & MergeableFilter<F>;
  const make = (capacity: number): Mergeable => subject.make({ capacity, falsePositiveRate: 0.01 }) as Mergeable;

  test('merging is the union, and leaves the other as it was', () => {
    const random = createPrng(SEED);
    const [one, other, both] = [make(300), make(300), make(300)];
    const ids = randomIds(random, subject, 300);
    for (const [index, id] of ids.entries()) {
      // Some are in both of them.
      if (index < 200) one.add(id);
      if (index >= 150) other.add(id);
      if (index < 200) both.add(id);
      if (index >= 150) both.add(id);
    }
    const otherBefore = other.save();
    one.merge(other);
    expect(ids.every((id) => one.has(id))).toBe(true);
    expect(Buffer.compare(other.save(), otherBefore)).toBe(0);
    if (subject.mergesToSameBytes === true) {
      expect(Buffer.compare(one.save(), both.save())).toBe(0);
      expect([one.elements, one.falsePositiveRate()]).toEqual([both.elements, both.falsePositiveRate()]);
    }
    if (subject.estimatesElements !== true) expect(one.elements).toBe(both.elements);
  });

  test('another shape is refused, and nothing changes', () => {
    const [one, other] = [make(300), make(3000)];
    one.add(new Uint8Array(subject.idBytes ?? 20));
    const before = one.save();
    expect(() => one.merge(other)).toThrow(LdmError);
    expect(Buffer.compare(one.save(), before)).toBe(0);
  });
}
