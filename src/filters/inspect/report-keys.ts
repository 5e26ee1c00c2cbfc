import { formatBytes } from '../../core/util/format-bytes.ts';
import type { Output } from '../../console/output/output.ts';
import { formatSection } from '../../console/output/tables.ts';
import { countNoun, formatCount, formatPercent } from '../../console/output/words.ts';
import type { FilterName } from '../family/membership-filter.ts';
import type { KeyFilter } from '../keys/key-filter.ts';
import type { KindFigures } from '../keys/kinds.ts';

const LABELS: Readonly<Record<keyof KindFigures, string>> = {
  positions: 'positions (m)',
  hashes: 'hash functions (k)',
  fill_ratio: 'fill',
  counter_bits: 'bits of a counter',
  saturated: 'saturated counters',
  fingerprint_bits: 'bits of a fingerprint',
  filters: 'Bloom filters',
  groups: 'groups of Bloom filters',
  blocks: 'blocks of 256 bits',
  doublings: 'doublings',
  cells: 'cells',
};

/** The kinds that cannot count exactly what is in them. */
const ESTIMATING: ReadonlySet<FilterName> = new Set(['bloom', 'split-block-bloom']);

/** Reports `filter inspect` of a filter of keys. */
export function reportKeyFilter(output: Output, { kind, filter, made, figures }: KeyFilter): void {
  const rate = filter.falsePositiveRate();
  const { elements, memoryBytes } = filter;
  output.message('key_filter', {
    kind,
    elements,
    memory_bytes: memoryBytes,
    fpr_predicted: rate,
    ...(made === undefined
      ? {}
      : { expected: made.expected, fpr_target: made.falsePositiveRate, keys_read: made.keysRead }),
    figures,
  });
  if (output.json) return;
  const rows: [string, string][] = [
    ['kind', kind],
    ...describeMade(made),
    [ESTIMATING.has(kind) ? 'keys in it, estimated' : 'keys in it', formatCount(elements)],
    ...Object.entries(figures).map(([name, value]): [string, string] => {
      return [LABELS[name as keyof KindFigures], name === 'fill_ratio' ? formatPercent(value) : formatCount(value)];
    }),
    ['false positive rate', rate === 0 ? 'none: exact' : `${formatPercent(rate)} predicted`],
    ['memory', describeMemory(memoryBytes, elements)],
  ];
  output.line(formatSection('Filter of keys', rows));
}

function describeMade(made: KeyFilter['made']): [string, string][] {
  if (made === undefined) return [];
  const { expected, falsePositiveRate, keysRead } = made;
  const forWhat = expected === undefined ? '' : `${countNoun(expected, 'key')} and `;
  return [
    ['made for', `${forWhat}a rate of ${formatPercent(falsePositiveRate)}`],
    ['keys read', formatCount(keysRead)],
  ];
}

function describeMemory(memoryBytes: number, elements: number): string {
  if (elements === 0) return formatBytes(memoryBytes);
  return `${formatBytes(memoryBytes)}, ${((memoryBytes * 8) / elements).toFixed(1)} bits for each key`;
}
