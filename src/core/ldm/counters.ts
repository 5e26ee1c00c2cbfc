import assert from 'node:assert/strict';
import { stepFrom } from './positions.ts';

export const COUNTER_BITS = 4;
/** A saturated counter no longer holds the true count. It keeps this value until the counters are rebuilt. */
export const COUNTER_MAX: number = 2 ** COUNTER_BITS - 1;

/**
 * The m counters of the filter, two per byte. Each counts the live chunks that have one of their k positions there.
 * Positions are given as a start and a stride: start, start + stride, ..., modulo m.
 */
export class CounterArray {
  readonly positions: number;
  readonly hashes: number;
  readonly bytes: Uint8Array;
  #saturatedCount: number;

  /** @param bytes - saved counters; if omitted, all counters are 0. */
  constructor(positions: number, hashes: number, bytes?: Uint8Array) {
    const sizeBytes = Math.ceil(positions / 2);
    assert(bytes === undefined || bytes.length === sizeBytes);
    this.positions = positions;
    this.hashes = hashes;
    this.bytes = bytes ?? new Uint8Array(sizeBytes);
    this.#saturatedCount = bytes === undefined ? 0 : countSaturated(bytes);
  }

  /** Number of saturated counters. */
  get saturatedCount(): number {
    return this.#saturatedCount;
  }

  /** Returns false if a chunk with these positions is certainly absent, so that the caller can skip the chain. */
  probe(start: number, stride: number): boolean {
    const { bytes, positions } = this;
    let position = start;
    for (let left = this.hashes; left > 0; left--) {
      if (((bytes[position >>> 1]! >>> ((position & 1) << 2)) & COUNTER_MAX) === 0) return false;
      position = stepFrom(position, stride, positions);
    }
    return true;
  }

  /** Increments the counter at each position of a chunk. */
  add(start: number, stride: number): void {
    let position = start;
    for (let left = this.hashes; left > 0; left--) {
      this.#increment(position);
      position = stepFrom(position, stride, this.positions);
    }
  }

  /** Decrements the counter at each position of a chunk that was added before. */
  subtract(start: number, stride: number): void {
    let position = start;
    for (let left = this.hashes; left > 0; left--) {
      this.#decrement(position);
      position = stepFrom(position, stride, this.positions);
    }
  }

  #increment(position: number): void {
    const shift = (position & 1) << 2;
    const byte = this.bytes[position >>> 1]!;
    const count = (byte >>> shift) & COUNTER_MAX;
    if (count === COUNTER_MAX) return;
    if (count === COUNTER_MAX - 1) this.#saturatedCount++;
    this.bytes[position >>> 1] = byte + (1 << shift);
  }

  /**
   * Leaves a saturated counter unchanged: decrementing it could cause a false negative, because its true count is
   * unknown.
   */
  #decrement(position: number): void {
    const shift = (position & 1) << 2;
    const byte = this.bytes[position >>> 1]!;
    const count = (byte >>> shift) & COUNTER_MAX;
    if (count === COUNTER_MAX) return;
    assert(count > 0, 'a chunk is subtracted that was never added');
    this.bytes[position >>> 1] = byte - (1 << shift);
  }

  countAt(position: number): number {
    return (this.bytes[position >>> 1]! >>> ((position & 1) << 2)) & COUNTER_MAX;
  }

  /** Returns the number of counters with each value, 0 to COUNTER_MAX. */
  histogram(): number[] {
    return countValues(this.bytes, this.positions);
  }
}

function countSaturated(bytes: Uint8Array): number {
  let count = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]!;
    // These two comparisons are cheap, and saturated counters are rare.
    if ((byte & COUNTER_MAX) === COUNTER_MAX) count++;
    if (byte >= COUNTER_MAX << COUNTER_BITS) count++;
  }
  return count;
}

function countValues(bytes: Uint8Array, positions: number): number[] {
  const byteCounts = new Float64Array(256);
  for (const byte of bytes) byteCounts[byte]!++;
  const histogram = Array.from({ length: COUNTER_MAX + 1 }, () => 0);
  for (const [byte, count] of byteCounts.entries()) {
    histogram[byte & COUNTER_MAX]! += count;
    histogram[byte >>> COUNTER_BITS]! += count;
  }
  // If m is odd, half a byte is unused and always 0.
  histogram[0]! -= bytes.length * 2 - positions;
  return histogram;
}
