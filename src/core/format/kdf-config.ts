import {
  MAX_KDF_COST_KIB,
  MAX_KDF_LANES,
  MAX_KDF_MEMORY_KIB,
  MAX_KDF_PASSES,
  MIN_KDF_COST_KIB,
  MIN_KDF_MEMORY_KIB,
} from './constants.ts';
import type { JsonReader } from './json-reader.ts';

/** Parameters of Argon2id. Structurally the same as those of the function that computes it. */
export interface KdfConfig {
  readonly memoryKib: number;
  readonly passes: number;
  readonly lanes: number;
}

export function encodeKdf({ memoryKib, passes, lanes }: KdfConfig): Record<string, number | string> {
  return { algorithm: 'argon2id', memory_kib: memoryKib, passes, lanes };
}

/**
 * A forged file must not take all memory or hours to open, and its key must not be guessed at next to no cost.
 * @throws CorruptDataError
 */
export function readKdf(reader: JsonReader): KdfConfig {
  void reader.oneOf('algorithm', ['argon2id']);
  const memoryKib = reader.integer('memory_kib', MIN_KDF_MEMORY_KIB, MAX_KDF_MEMORY_KIB);
  const passes = reader.integer('passes', 1, MAX_KDF_PASSES);
  const lanes = reader.integer('lanes', 1, MAX_KDF_LANES);
  const costKib = memoryKib * passes;
  if (costKib < MIN_KDF_COST_KIB || costKib > MAX_KDF_COST_KIB) {
    reader.fail('passes', `times "memory_kib" is ${costKib}, not from ${MIN_KDF_COST_KIB} to ${MAX_KDF_COST_KIB}`);
  }
  return { memoryKib, passes, lanes };
}

/** Members behind the sealed key of a file are not authenticated, so nothing is read from there. */
export function membersBeforeSealed(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const count = Object.keys(members).indexOf('sealed');
  return Object.fromEntries(count < 0 ? Object.entries(members) : Object.entries(members).slice(0, count));
}
