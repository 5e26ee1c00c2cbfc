import { plot } from 'simple-ascii-chart';
import { inLocale } from '../../console/output/locale.ts';
import { formatCount } from '../../console/output/words.ts';
import type { ChartPanel } from './chart.ts';

const WIDTH = 64;
const HEIGHT = 18;
const TICK_COUNT = 4;

/** Draws a panel with characters, and its legend below. Series differ by symbol, not by color. */
export function drawPanel(panel: ChartPanel): string {
  const points = panel.series.flatMap(({ points: own, symbol }) => own.map(([x, y]) => ({ x, y, symbol })));
  const xMax = Math.max(...points.map(({ x }) => x));
  const yMax = Math.ceil(Math.max(...points.map(({ y }) => y)));
  const symbolAt = new Map(points.map(({ x, y, symbol }) => [`${x} ${y}`, symbol]));
  const chart = plot(
    panel.series.map((series) => series.points.map(([x, y]): [number, number] => [x, y])),
    {
      width: WIDTH,
      height: HEIGHT,
      title: panel.title,
      xLabel: panel.xTitle,
      yLabel: panel.yTitle,
      yRange: [0, yMax],
      customXAxisTicks: Array.from({ length: TICK_COUNT }, (_, index) => ((index + 1) * xMax) / TICK_COUNT),
      customYAxisTicks: Array.from({ length: yMax + 1 }, (_, index) => index),
      // The library would write 1600 as 1.600k.
      formatter: formatCount,
      lineFormatter: ({ x, y, plotX, plotY }) => ({ x: plotX, y: plotY, symbol: symbolAt.get(`${x} ${y}`) ?? '?' }),
    },
  );
  const legend = panel.series.map(({ symbol, name }) => `${symbol} ${name}`).join('   ');
  const lines = [...chart.split('\n'), legend].map((line) => line.trimEnd());
  return inLocale(lines.filter((line) => line !== '').join('\n'));
}
