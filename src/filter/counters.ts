import assert from 'node:assert/strict';
import { stepFrom } from './positions.ts';

export const COUNTER_BITS = 4;
/** A counter that reaches this has lost count: it stays there until the counters are rebuilt. */
export const COUNTER_MAX: number = 2 ** COUNTER_BITS - 1;

/**
 * The m counters of the filter, two in a byte. Each says how many live chunks have one of their k positions there.
 * Positions come as a start and a stride: start, start + stride, ..., modulo m.
 */
export class CounterArray {
  readonly positions: number;
  readonly hashes: number;
  readonly bytes: Uint8Array;
  #saturatedCount: number;

  /** @param bytes - counters that were saved; without them all counters are 0. */
  constructor(positions: number, hashes: number, bytes?: Uint8Array) {
    const sizeBytes = Math.ceil(positions / 2);
    assert(bytes === undefined || bytes.length === sizeBytes);
    this.positions = positions;
    this.hashes = hashes;
    this.bytes = bytes ?? new Uint8Array(sizeBytes);
    this.#saturatedCount = bytes === undefined ? 0 : countSaturated(bytes);
  }

  /** How many counters have lost count. */
  get saturatedCount(): number {
    return this.#saturatedCount;
  }

  /** Asks "may I skip the chain?": false means that a chunk with these positions is absent for certain. */
  probe(start: number, stride: number): boolean {
    const { bytes, positions } = this;
    let position = start;
    for (let left = this.hashes; left > 0; left--) {
      if (((bytes[position >>> 1]! >>> ((position & 1) << 2)) & COUNTER_MAX) === 0) return false;
      position = stepFrom(position, stride, positions);
    }
    return true;
  }

  /** Counts a chunk in: one more at each of its positions. */
  add(start: number, stride: number): void {
    let position = start;
    for (let left = this.hashes; left > 0; left--) {
      this.#increment(position);
      position = stepFrom(position, stride, this.positions);
    }
  }

  /** Counts a chunk out that was counted in: one less at each of its positions. */
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

  /** A saturated counter does not move: to go down from a number that was lost would end in a false negative. */
  #decrement(position: number): void {
    const shift = (position & 1) << 2;
    const byte = this.bytes[position >>> 1]!;
    const count = (byte >>> shift) & COUNTER_MAX;
    if (count === COUNTER_MAX) return;
    assert(count > 0, 'a chunk is counted out that was never counted in');
    this.bytes[position >>> 1] = byte - (1 << shift);
  }

  countAt(position: number): number {
    return (this.bytes[position >>> 1]! >>> ((position & 1) << 2)) & COUNTER_MAX;
  }

  /** How many counters have each value, 0 to COUNTER_MAX. */
  histogram(): number[] {
    return countValues(this.bytes, this.positions);
  }
}

function countSaturated(bytes: Uint8Array): number {
  let count = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]!;
    // Almost every byte is decided by these two comparisons.
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
  // An odd m leaves half a byte over, always 0.
  histogram[0]! -= bytes.length * 2 - positions;
  return histogram;
}
