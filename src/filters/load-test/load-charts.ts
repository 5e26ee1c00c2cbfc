import { formatPercent } from '../../console/output/words.ts';
import type { ChartPanel, ChartSeries } from '../charts/chart.ts';
import type { LoadTestResult } from './load-test.ts';
import { SIZED_NAMES } from './structure-sizes.ts';

const MEGABYTE = 1e6;
const SET = 'JavaScript Set';
const COLORS = [
  '#1f6fb4',
  '#d1600e',
  '#2b8a3e',
  '#7048a8',
  '#a8323e',
  '#6b5b4b',
  '#0b7a8a',
  '#b8860b',
  '#555555',
  '#c2417c',
] as const;
const SYMBOLS = 'abcdefghij';

/** Structures that answer exactly have panels of their own: they need far more memory than filters with a rate. */
const EXACT: readonly string[] = ['dibf', 'ldm', SET];

/** The memory of each structure by the number of ids. */
export function memoryPanels({ sizes, falsePositiveRate }: LoadTestResult): ChartPanel[] {
  type Row = (typeof sizes)[number];
  const structures = SIZED_NAMES.map((name): [string, (row: Row) => number] => [
    name,
    ({ structureBytes }) => structureBytes.get(name)!,
  ]);
  structures.push([SET, ({ setBytes }) => setBytes]);
  const series = structures.map(([name, bytesOf], index) =>
    seriesOf(
      name,
      index,
      sizes.map((row) => [row.elements, bytesOf(row) / MEGABYTE]),
    ),
  );
  const panel = (title: string, isExact: boolean): ChartPanel => ({
    title,
    xTitle: 'ids',
    yTitle: 'MB',
    series: series.filter(({ name }) => EXACT.includes(name) === isExact),
  });
  return [panel(`filters with a rate of ${formatPercent(falsePositiveRate)}`, false), panel('exact structures', true)];
}

function seriesOf(name: string, index: number, points: [number, number][]): ChartSeries {
  return { name, symbol: SYMBOLS[index]!, color: COLORS[index]!, isTheory: false, points };
}

/** One line for each number of ids. */
export function sizesCsv({ sizes }: LoadTestResult): string {
  const head = ['elements', ...SIZED_NAMES, 'set'].join(',');
  const lines = sizes.map(({ elements, structureBytes, setBytes }) =>
    [elements, ...SIZED_NAMES.map((name) => structureBytes.get(name)!), setBytes].join(','),
  );
  return `${[head, ...lines].join('\n')}\n`;
}
