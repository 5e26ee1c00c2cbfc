import * as fc from 'fast-check';
import { describe, expect } from 'vitest';
import { CorruptDataError } from '../../../src/core/errors.ts';
import {
  CHECKPOINT_HEADER_BYTES,
  CHECKPOINT_PACK_BYTES,
  CHECKPOINT_SNAPSHOT_BYTES,
  decodeCheckpointHeader,
  decodeCheckpointPacks,
  decodeCheckpointSnapshots,
  decodeFileIds,
  encodeCheckpointHeader,
  encodeCheckpointPacks,
  encodeCheckpointSnapshot,
  encodeFileIds,
} from '../../../src/core/format/checkpoint.ts';
import { testProperty } from '../../support/property.ts';

const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const u64 = fc.maxSafeNat();
const fileId = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'));

const header = fc.record({
  capacity: u32,
  hashes: u32,
  positions: u32,
  fprTarget: fc.double({ min: 0, max: 1, noNaN: true }),
  segmentCount: u32,
  absentPackCount: u32,
  snapshotCount: u32,
  snapshotsBytes: u64,
  packCount: u32,
  counterBytes: u64,
  liveCount: u32,
  deadCount: u32,
  liveHeadCount: u32,
  deadHeadCount: u32,
});

describe('the parts of a checkpoint', () => {
  testProperty('a header comes back, and no bit of it may change', (check) => {
    check(
      fc.property(header, fc.nat(CHECKPOINT_HEADER_BYTES * 8 - 1), (value, bit) => {
        const bytes = encodeCheckpointHeader(value);
        expect(bytes.length).toBe(CHECKPOINT_HEADER_BYTES);
        expect(decodeCheckpointHeader(bytes)).toEqual(value);
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        expect(() => decodeCheckpointHeader(bytes)).toThrow(CorruptDataError);
      }),
    );
  });

  testProperty('lists of segments and packs come back', (check) => {
    const pack = fc.record({
      id: fileId,
      kind: fc.constantFrom<'data' | 'tree'>('data', 'tree'),
      sizeBytes: u64,
      chunkCount: u32,
      storedBytes: u64,
      isBorrowed: fc.boolean(),
    });
    check(
      fc.property(fc.array(fileId), fc.array(pack), (ids, packs) => {
        expect(decodeFileIds(encodeFileIds(ids))).toEqual(ids);
        const bytes = encodeCheckpointPacks(packs);
        expect(bytes.length).toBe(packs.length * CHECKPOINT_PACK_BYTES);
        expect(decodeCheckpointPacks(bytes)).toEqual(packs);
      }),
    );
  });

  testProperty(
    'snapshots come back with their manifests, and another number of them or of bytes is damage',
    (check) => {
      const snapshot = fc.record({
        id: fileId,
        tree: fc.uint8Array({ minLength: 20, maxLength: 20 }),
        manifest: fc.uint8Array({ maxLength: 100 }),
      });
      check(
        fc.property(fc.array(snapshot, { minLength: 1, maxLength: 5 }), (snapshots) => {
          const bytes = Buffer.concat(snapshots.map(encodeCheckpointSnapshot));
          expect(decodeCheckpointSnapshots(bytes, snapshots.length)).toEqual(snapshots);
          const wrong = [
            [bytes, snapshots.length - 1],
            [bytes, snapshots.length + 1],
            [bytes.subarray(0, -1), snapshots.length],
          ] as const;
          for (const [part, count] of wrong) {
            expect(() => decodeCheckpointSnapshots(part, count)).toThrow(CorruptDataError);
          }
          expect(encodeCheckpointSnapshot({ ...snapshots[0]!, manifest: new Uint8Array(0) })).toHaveLength(
            CHECKPOINT_SNAPSHOT_BYTES,
          );
        }),
      );
    },
  );
});
