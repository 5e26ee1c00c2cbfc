import { UsageError } from '../../core/errors.ts';
import { byteStringFromBytes } from '../../core/util/byte-string.ts';
import { byteFields } from '../../console/output/byte-fields.ts';
import { displayPath } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { formatCount, formatPercent } from '../../console/output/words.ts';
import type { SlotTrace, Trace } from '../family/trace.ts';
import type { KeyFilter } from '../keys/key-filter.ts';
import { drawSlots, drawTrace, missingPosition } from './draw-trace.ts';

/**
 * Shows how a filter answers for each key. Returns the number of those that may be in it.
 * @throws UsageError for a kind that has nothing to draw
 */
export function explainKeys(output: Output, filter: KeyFilter, keys: readonly Uint8Array[]): number {
  let found = 0;
  for (const [index, key] of keys.entries()) {
    const trace = filter.trace(key);
    if (trace === undefined) {
      throw new UsageError(
        `a filter of the kind ${filter.kind} has no picture: it compares whole keys, and nothing else`,
      );
    }
    const isIn = filter.has(key);
    found += Number(isIn);
    const name = displayPath(byteStringFromBytes(key));
    if (index > 0) output.line('');
    const rate = filter.filter.falsePositiveRate();
    const picture = 'slots' in trace ? drawSlots(trace) : drawTrace(trace);
    const verdict = 'slots' in trace ? verdictOfSlots(trace, rate) : verdictOf(trace, isIn, rate);
    output.line(`${name}\n${picture}\n\n  ${verdict}`);
    output.message('explanation', {
      ...byteFields('key', byteStringFromBytes(key)),
      answer: !isIn ? 'no' : rate === 0 ? 'yes' : 'maybe',
      hashes: Object.fromEntries(trace.hashes),
      ...('slots' in trace ? slotFields(trace) : positionFields(trace)),
    });
  }
  return found;
}

function positionFields({ positions, arrays, link }: Trace): Record<string, unknown> {
  return {
    positions,
    values: arrays.map((array) => positions.map((position) => array.valueAt(position))),
    ...(link === undefined ? {} : { link_position: link.position, chain_length: link.chainLength }),
  };
}

/** Only what is stored; 0 is an empty slot. */
function slotFields({ slots }: SlotTrace): Record<string, unknown> {
  const stored = slots.filter(({ place }) => place !== undefined);
  return { positions: stored.map(({ place }) => place), values: [stored.map(({ value = 0 }) => value)] };
}

function verdictOfSlots({ isFound, reason }: SlotTrace, rate: number): string {
  if (!isFound) return `no: ${reason}`;
  return `perhaps: ${reason}; that is so for ${formatPercent(rate)} of the keys that were not added, too`;
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
