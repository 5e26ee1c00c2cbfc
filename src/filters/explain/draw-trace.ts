import { inLocale } from '../../console/output/locale.ts';
import { formatTable } from '../../console/output/tables.ts';
import { formatCount } from '../../console/output/words.ts';
import type { SlotTrace, Trace, TracedArray } from '../family/trace.ts';

/** Up to this number of positions, all of them are drawn. */
const SIZE_OF_WHOLE_MAX = 22;
/** How many neighbours of a position are shown on each side. */
const NEIGHBOURS = 8;
const STRIP_WIDTH = 64;
/** How many places of a column of the strip are looked at. */
const SAMPLES_MAX = 256;
/** For the part of the places that is taken: none, up to a quarter, and so on. */
const SHADES = [' ', '░', '▒', '▓', '█'];
const MARK = '▲';
const INDENT = '  ';

/** Draws what a query reads: hash values, positions, and the bits or counters there. */
export function drawTrace(trace: Trace): string {
  const { hashes, rule, arrays } = trace;
  const [first] = arrays;
  const sections = [
    [...hashes.map((row) => [...row]), ['positions', rule], ['m', formatCount(first!.size)]],
    ...(arrays.length > 1 ? [drawList(trace)] : [drawArray(trace, first!)]),
    ...(trace.link === undefined ? [] : [drawLink(trace.link)]),
  ];
  const blocks = sections.map((section) =>
    typeof section === 'string' ? section : formatTable(section, { indent: INDENT }),
  );
  return inLocale(blocks.join('\n\n'));
}

/** Draws what a query reads of a filter of fingerprints: hash values, and the slots with their contents. */
export function drawSlots({ hashes, slots, format }: SlotTrace): string {
  const rows = slots.map(({ label, place, value, isMatch }) => [
    label,
    place === undefined ? '' : formatCount(place),
    value === undefined ? 'empty' : format(value),
    isMatch === true ? '<- match' : '',
  ]);
  const blocks = [hashes.map((row) => [...row]), rows].filter((block) => block.length > 0);
  return inLocale(
    blocks.map((block) => formatTable(block, { indent: INDENT, rightAligned: block === rows ? [1] : [] })).join('\n\n'),
  );
}

function drawArray(trace: Trace, array: TracedArray): string {
  return array.size <= SIZE_OF_WHOLE_MAX ? drawWhole(trace, array) : drawParts(trace, array);
}

/** Every place of a small array, with a line for each hash function. */
function drawWhole({ positions, unit }: Trace, array: TracedArray): string {
  const places = Array.from({ length: array.size }, (_, place) => place);
  const cell = (text: string | number): string => String(text).padStart(3);
  const rows = [
    ['position', places.map(cell).join('')],
    [unit, places.map((place) => cell(array.valueAt(place))).join('')],
    ...positions.map((position, index) => [
      `h${index + 1} = ${position}`,
      places.map((place) => cell(place === position ? MARK : '')).join(''),
    ]),
  ];
  return formatTable(rows, { indent: INDENT });
}

/** A strip of the whole array, and the neighbours of each position. */
function drawParts(trace: Trace, array: TracedArray): string {
  const marks = Array.from({ length: STRIP_WIDTH }, () => ' ');
  for (const position of trace.positions) marks[Math.floor((position * STRIP_WIDTH) / array.size)] = MARK;
  const last = formatCount(array.size - 1);
  const rows = trace.positions.map((position, index) => {
    const value = array.valueAt(position);
    return [`h${index + 1}`, formatCount(position), `${trace.unit} ${value}`, neighboursOf(array, position)];
  });
  return [
    `${INDENT}0${last.padStart(STRIP_WIDTH - 1)}`,
    `${INDENT}${shadesOf(array).join('')}`,
    `${INDENT}${marks.join('').trimEnd()}`,
    '',
    formatTable(rows, { indent: INDENT, rightAligned: [1] }),
  ].join('\n');
}

function shadesOf(array: TracedArray): string[] {
  return Array.from({ length: STRIP_WIDTH }, (_, column) => {
    const from = Math.floor((column * array.size) / STRIP_WIDTH);
    const to = Math.max(from + 1, Math.floor(((column + 1) * array.size) / STRIP_WIDTH));
    const step = Math.max(1, Math.floor((to - from) / SAMPLES_MAX));
    let places = 0;
    let taken = 0;
    for (let place = from; place < to; place += step) {
      places++;
      taken += Number(array.valueAt(place) > 0);
    }
    return SHADES[Math.ceil((taken / places) * (SHADES.length - 1))]!;
  });
}

/** One character for each place: `1011[0]0010`. */
function neighboursOf(array: TracedArray, position: number): string {
  const from = Math.max(0, position - NEIGHBOURS);
  const to = Math.min(array.size - 1, position + NEIGHBOURS);
  const part = (begin: number, end: number): string =>
    Array.from({ length: Math.max(0, end - begin) }, (_, index) => digitOf(array.valueAt(begin + index))).join('');
  const before = `${from > 0 ? '...' : ''}${part(from, position)}`.padStart(NEIGHBOURS + 3);
  return `${before}[${digitOf(array.valueAt(position))}]${part(position + 1, to + 1)}${to < array.size - 1 ? '...' : ''}`;
}

/** A hexadecimal digit; counters can be larger. */
function digitOf(value: number): string {
  return value > 15 ? '+' : value.toString(16);
}

/** A line for each filter of a list: all of them have the same positions. */
function drawList({ positions, unit, arrays }: Trace): string {
  const head = ['filter', ...positions.map((_, index) => `h${index + 1}`), ''];
  const rows = [
    ['position', ...positions.map((position) => formatCount(position)), ''],
    ...arrays.map((array, index) => {
      const values = positions.map((position) => array.valueAt(position));
      return [`${unit} of ${index + 1}`, ...values.map(String), values.every((value) => value > 0) ? '<- all' : ''];
    }),
  ];
  return formatTable(rows, { head, indent: INDENT, rightAligned: positions.map((_, index) => index + 1) });
}

function drawLink({ name, rule, position, chainLength }: NonNullable<Trace['link']>): string {
  const rows = [
    [name, `${rule} = ${formatCount(position)}`],
    ['chain there', `${formatCount(chainLength)} of the keys`],
  ];
  return formatTable(rows, { indent: INDENT });
}

/** The first position that rules the key out; undefined if a filter of the list has none. */
export function missingPosition({ positions, arrays }: Trace): number | undefined {
  const missing = arrays.map((array) => positions.find((position) => array.valueAt(position) === 0));
  return missing.includes(undefined) ? undefined : missing[0];
}
