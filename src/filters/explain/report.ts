import { UsageError } from '../../core/errors.ts';
import { byteStringFromBytes } from '../../core/util/byte-string.ts';
import { byteFields } from '../../console/output/byte-fields.ts';
import { displayPath } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { formatCount, formatPercent } from '../../console/output/words.ts';
import type { Trace } from '../family/trace.ts';
import type { KeyFilter } from '../keys/key-filter.ts';
import { drawTrace, missingPosition } from './draw-trace.ts';

/**
 * Shows how a filter answers for each key. Returns the number of those that may be in it.
 * @throws UsageError for a kind without bits and counters
 */
export function explainKeys(output: Output, filter: KeyFilter, keys: readonly Uint8Array[]): number {
  let found = 0;
  for (const [index, key] of keys.entries()) {
    const trace = filter.trace(key);
    if (trace === undefined) {
      throw new UsageError(`a filter of the kind ${filter.kind} has no bits or counters to show`);
    }
    const isIn = filter.has(key);
    found += Number(isIn);
    const name = displayPath(byteStringFromBytes(key));
    if (index > 0) output.line('');
    output.line(`${name}\n${drawTrace(trace)}\n\n  ${verdictOf(trace, isIn, filter.filter.falsePositiveRate())}`);
    output.message('explanation', {
      ...byteFields('key', byteStringFromBytes(key)),
      answer: !isIn ? 'no' : filter.filter.falsePositiveRate() === 0 ? 'yes' : 'maybe',
      hashes: Object.fromEntries(trace.hashes),
      positions: trace.positions,
      values: trace.arrays.map((array) => trace.positions.map((position) => array.valueAt(position))),
      ...(trace.link === undefined ? {} : { link_position: trace.link.position, chain_length: trace.link.chainLength }),
    });
  }
  return found;
}

function verdictOf(trace: Trace, isIn: boolean, rate: number): string {
  const { unit, arrays, link } = trace;
  const missing = missingPosition(trace);
  if (missing !== undefined) {
    const where = arrays.length > 1 ? 'every filter has a 0' : `the ${unit} at ${formatCount(missing)} is 0`;
    return `no: ${where}; a key that was added has no 0`;
  }
  if (link !== undefined) {
    return isIn ? 'yes: the chain has the key' : `no: no ${unit} is 0, but the chain does not have the key`;
  }
  return `perhaps: no ${unit} is 0; that is so for ${formatPercent(rate)} of the keys that were not added, too`;
}
