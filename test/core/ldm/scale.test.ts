import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  PACK_FOOTER_BLOCK_BYTES,
  PACK_FOOTER_CHUNK_BYTES,
  PACK_TRAILER_BYTES,
  SEGMENT_PACK_BYTES,
} from '../../../src/core/format/constants.ts';
import { planFilter } from '../../../src/core/ldm/formulas.ts';
import { filterRow, pagedRow } from '../../bench/scale.ts';

const DOCUMENT = readFileSync(new URL('../../../docs/scale.md', import.meta.url), 'utf8');
const CHUNKS_PER_PACK = 32;
const CHUNKS_PER_BLOCK = 4;

/** Returns the cells of a row of the table after a mark. */
function documentedRow(mark: string, chunks: string): string[] {
  const table = DOCUMENT.split(`<!-- scale: ${mark} -->`)[1]!;
  const line = table.split('\n').find((each) => each.startsWith(`| ${chunks} |`))!;
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function documentedCost(structure: string): number {
  const line = DOCUMENT.split('\n').find((each) => each.startsWith(`| ${structure}`))!;
  return Number(line.split('|')[2]);
}

/** All cells but those of times, which depend on the machine. */
function withoutTimes(row: readonly string[]): string[] {
  return row.filter((cell) => !cell.endsWith('µs'));
}

describe('docs/scale.md', () => {
  it('has the figures of the filter that a small simulation gives', () => {
    const documented = documentedRow('filter', '100,000');
    expect(documented).toHaveLength(7);
    const computed = filterRow(100_000);
    // The false positive rate is measured with random ids.
    expect(withoutTimes(computed).toSpliced(2, 1)).toEqual(withoutTimes(documented).toSpliced(2, 1));
    expect(Number.parseFloat(computed[5]!)).toBeCloseTo(Number.parseFloat(documented[5]!), 1);
  });

  it('has the figures of the paged index that a simulation gives', () => {
    expect(documentedRow('paged', '100,000')).toEqual(pagedRow(100_000));
  });

  it('has the sizes that the format gives', () => {
    const { positions, capacity } = planFilter({ capacity: 1_000_000 });
    const counters = positions / 2 / capacity;
    expect(counters).toBeCloseTo(documentedCost('of these, counters'), 2);
    const packBytes = SEGMENT_PACK_BYTES + PACK_TRAILER_BYTES;
    const listed = PACK_FOOTER_CHUNK_BYTES + PACK_FOOTER_BLOCK_BYTES / CHUNKS_PER_BLOCK + packBytes / CHUNKS_PER_PACK;
    expect(listed).toBeCloseTo(documentedCost('segments'), 1);
    expect(48 + counters + 4 + 56 / CHUNKS_PER_PACK).toBeCloseTo(documentedCost('checkpoint'), 1);
  });
});
