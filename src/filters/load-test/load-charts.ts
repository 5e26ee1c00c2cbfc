import { formatPercent } from '../../console/output/words.ts';
import { highestOf, type ChartPanel, type ChartSeries } from '../charts/chart.ts';
import type { LoadTestResult } from './load-test.ts';
import type { RealRow } from './real/real-load-test.ts';
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
  const panel = (title: string, isExact: boolean): ChartPanel => {
    const shown = series.filter(({ name }) => EXACT.includes(name) === isExact);
    return { title, xTitle: 'ids', yTitle: 'MB', ...endsOf(shown), series: shown };
  };
  return [panel(`filters with a rate of ${formatPercent(falsePositiveRate)}`, false), panel('exact structures', true)];
}

const PANELS: readonly (readonly [title: string, yTitle: string, value: (row: RealRow) => number])[] = [
  ['half of the look-ups take at most', 'ms', ({ p50Ms }) => p50Ms],
  ['95 % of the look-ups take at most', 'ms', ({ p95Ms }) => p95Ms],
  ['look-ups of all clients', 'per second', ({ lookUpsPerSecond }) => lookUpsPerSecond],
];

/** Times and throughput of each way to look chunks up, by the number of clients. */
export function lookUpPanels(rows: readonly RealRow[]): ChartPanel[] {
  const ways = [...new Set(rows.map(({ way }) => way))];
  return PANELS.map(([title, yTitle, value]) => {
    const pointsOf = (way: string): [number, number][] =>
      rows.filter((row) => row.way === way).map((row) => [row.clients, value(row)]);
    const series = ways.map((way, index) => seriesOf(way, index, pointsOf(way)));
    return { title, xTitle: 'clients', yTitle, ...endsOf(series), series };
  });
}

function endsOf(series: readonly ChartSeries[]): Pick<ChartPanel, 'xMax' | 'yMax'> {
  const xMax = Math.max(...series.flatMap(({ points }) => points.map(([x]) => x)));
  return { xMax, yMax: Math.max(1, Math.ceil(highestOf(series))) };
}

function seriesOf(name: string, index: number, points: [number, number][]): ChartSeries {
  return { name, symbol: SYMBOLS[index]!, color: COLORS[index]!, isTheory: false, points };
}

/** One line for each row of the real load test. */
export function realRowsCsv(seed: number, rows: readonly RealRow[]): string {
  const head =
    'seed,clients,way,look_ups,questions_per_look_up,unanswered,mean_ms,p50_ms,p95_ms,look_ups_per_second,agents_cpu_ms,clients_cpu_ms,servers_cpu_ms';
  const lines = rows.map((row) =>
    [
      seed,
      row.clients,
      row.way,
      row.lookUps,
      row.questionsPerLookUp,
      row.unanswered,
      row.meanMs,
      row.p50Ms,
      row.p95Ms,
      row.lookUpsPerSecond,
      row.agentMs ?? '',
      row.clientMs,
      row.serverMs ?? '',
    ].join(','),
  );
  return `${[head, ...lines].join('\n')}\n`;
}

/** One line for each number of ids. */
export function sizesCsv({ sizes }: LoadTestResult): string {
  const head = ['elements', ...SIZED_NAMES, 'set'].join(',');
  const lines = sizes.map(({ elements, structureBytes, setBytes }) =>
    [elements, ...SIZED_NAMES.map((name) => structureBytes.get(name)!), setBytes].join(','),
  );
  return `${[head, ...lines].join('\n')}\n`;
}
