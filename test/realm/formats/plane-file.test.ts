import { hash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CorruptDataError, UnsupportedFormatError } from '../../../src/core/errors.ts';
import {
  PLANE_FILE_VERSION,
  concurrentPlaneChecksum,
  decodePlaneBase,
  decodePlaneDelta,
  encodePlaneBase,
  encodePlaneDelta,
  planeChecksum,
  planeDeltaBytes,
} from '../../../src/realm/formats/plane-file.ts';
import type { PlaneBase, PlaneDelta } from '../../../src/realm/formats/plane-file.ts';
import { expectNoSurprise, expectWholeOnly, findSilentBytes } from '../../core/format/damage.ts';
import { bytesOfDump, fieldOf } from '../../core/format/format-document.ts';
import { testProperty } from '../../support/property.ts';

const PLANE = Uint8Array.of(0x81, 0x00, 0x1f);
const BASE: PlaneBase = {
  domainId: '0f'.repeat(32),
  generation: 3,
  sequence: 7,
  positions: 23,
  hashes: 4,
  liveCount: 2,
  plane: PLANE,
};
const DELTA: PlaneDelta = {
  domainId: '0f'.repeat(32),
  generation: 3,
  from: 7,
  to: 8,
  positions: 2_000_000_011,
  liveCount: 5,
  checksum: planeChecksum(PLANE),
  flips: Uint32Array.of(0, 1, 129, 130 + 128, 20_000, 3_000_000, 400_000_000, 2_000_000_010),
};

describe('a base', () => {
  testProperty('reads back as it was written', (check) => {
    const arbBase = fc.integer({ min: 1, max: 400 }).chain((positions) =>
      fc.record({
        domainId: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((id) => Buffer.from(id).toString('hex')),
        generation: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
        sequence: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
        positions: fc.constant(positions),
        hashes: fc.integer({ min: 1, max: 32 }),
        liveCount: fc.nat({ max: 0xffff_ffff }),
        plane: fc.uint8Array({ minLength: Math.ceil(positions / 8), maxLength: Math.ceil(positions / 8) }),
      }),
    );
    check(
      fc.property(arbBase, (base) => {
        const { plane, positions } = base;
        if (positions % 8 > 0) plane[plane.length - 1]! &= (1 << (positions % 8)) - 1;
        const decoded = decodePlaneBase(encodePlaneBase(base));
        expect({ ...decoded, plane: Uint8Array.from(decoded.plane) }).toEqual(base);
      }),
    );
  });

  testProperty('every damaged byte and every truncation is reported', (check) => {
    const bytes = encodePlaneBase(BASE);
    expect(findSilentBytes(bytes, decodePlaneBase)).toEqual([]);
    expectWholeOnly(bytes, decodePlaneBase);
    expectNoSurprise(check, bytes, decodePlaneBase);
  });

  test.each<[string, number, number]>([
    ['no hashes', 12, 0],
    ['too many hashes', 12, 33],
    ['no positions', 16, 0],
    ['too many positions', 16, 0x80],
    ['more positions than bytes', 16, 25],
    ['an unused bit', 16, 20],
  ])('%s are damage even with a right checksum', (_name, offset, value) => {
    const bytes = encodePlaneBase(BASE);
    // The last byte of the number makes it too large.
    if (value === 0x80) bytes[offset + 3] = value;
    else bytes[offset] = value;
    expect(() => decodePlaneBase(resealed(bytes))).toThrow(CorruptDataError);
  });

  test('another version is not guessed at, and a damaged version is damage', () => {
    const bytes = encodePlaneBase(BASE);
    bytes[8] = 2;
    expect(() => decodePlaneBase(bytes)).toThrow(CorruptDataError);
    expect(() => decodePlaneBase(resealed(bytes))).toThrow(UnsupportedFormatError);
  });
});

describe('a delta', () => {
  testProperty('reads back as it was written, in as many bytes as announced', (check) => {
    check(
      fc.property(fc.uniqueArray(fc.nat({ max: DELTA.positions - 1 })), (values) => {
        const flips = Uint32Array.from(values).sort();
        const bytes = encodePlaneDelta({ ...DELTA, flips });
        expect(bytes.length).toBe(planeDeltaBytes(flips));
        expect(decodePlaneDelta(bytes)).toEqual({ ...DELTA, flips });
      }),
    );
    expect(decodePlaneDelta(encodePlaneDelta(DELTA))).toEqual(DELTA);
  });

  testProperty('every damaged byte and every truncation is reported', (check) => {
    const bytes = encodePlaneDelta(DELTA);
    expect(findSilentBytes(bytes, decodePlaneDelta)).toEqual([]);
    expectWholeOnly(bytes, decodePlaneDelta);
    expectNoSurprise(check, bytes, decodePlaneDelta);
  });

  test('a count of flips beyond the file is damage before memory is taken for it', () => {
    const bytes = encodePlaneDelta(DELTA);
    bytes.fill(0xff, 20, 24);
    expect(() => decodePlaneDelta(resealed(bytes))).toThrow('too short for 4294967295 flips');
  });

  test.each<[string, readonly number[], string]>([
    ['a position beyond m', [0x80, 0x80, 0x80, 0x80, 0x08], 'position'],
    ['a number that is longer than necessary', [0x81, 0x00], 'longer than necessary'],
    ['a number of six bytes', [0x81, 0x80, 0x80, 0x80, 0x80, 0x01], 'too long'],
    ['a byte behind the last flip', [0x01, 0x01], 'bytes too many'],
  ])('%s is damage', (_name, varint, message) => {
    const empty = encodePlaneDelta({ ...DELTA, flips: new Uint32Array(1) });
    empty.writeUInt32LE(1, 20);
    const bytes = Buffer.concat([empty.subarray(0, 112), Uint8Array.from(varint), Buffer.alloc(32)]);
    expect(() => decodePlaneDelta(resealed(bytes))).toThrow(message);
  });

  test('a delta that leads nowhere is damage', () => {
    const bytes = encodePlaneDelta(DELTA);
    bytes[40] = 7;
    expect(() => decodePlaneDelta(resealed(bytes))).toThrow('leads from sequence 7 to 7');
  });
});

test('the examples of the document are plane files', () => {
  const base = decodePlaneBase(bytesOfDump('hex plane base'));
  const delta = decodePlaneDelta(bytesOfDump('hex plane delta'));
  const bits = (plane: Uint8Array): number[] =>
    Array.from({ length: 23 }, (_, position) => position).filter((p) => (plane[p >> 3]! >> (p & 7)) & 1);
  expect(bits(base.plane)).toEqual([0, 7, 16, 20]);
  expect([...delta.flips]).toEqual([7, 22]);
  for (const table of ['PLANE_BASE_HEADER_BYTES', 'PLANE_DELTA_HEADER_BYTES']) {
    expect(fieldOf(table, 'version').meaning).toBe(String(PLANE_FILE_VERSION));
  }
  expect(encodePlaneBase(base)).toEqual(bytesOfDump('hex plane base'));
  expect(encodePlaneDelta(delta)).toEqual(bytesOfDump('hex plane delta'));
  expect(delta).toMatchObject({ domainId: base.domainId, generation: base.generation, from: base.sequence });
  expect(planeChecksum(Uint8Array.of(0x01, 0x00, 0x51))).toBe(delta.checksum);
});

test.each([0, 65_536, 65_537])('the checksum of a plane of %i bytes is the same in another thread', async (size) => {
  const plane = new Uint8Array(size).fill(0x2d);
  expect(await concurrentPlaneChecksum(plane)).toBe(planeChecksum(plane));
  expect(planeChecksum(plane)).toBe(hash('sha256', plane, 'hex'));
});

/** With a right checksum at the end. */
function resealed(bytes: Buffer): Buffer {
  bytes.write(hash('sha256', bytes.subarray(0, -32), 'hex'), bytes.length - 32, 'hex');
  return bytes;
}
