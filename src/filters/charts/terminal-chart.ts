import { plot } from 'simple-ascii-chart';
import { inLocale } from '../../console/output/locale.ts';
import { formatCount } from '../../console/output/words.ts';
import { errorBars, type ChartPanel, type ChartSeries } from './chart.ts';

const WIDTH = 64;
const HEIGHT = 18;
const TICK_COUNT = 4;
const BAR = '¦';

/** Between a point and the end of its error bar, so that a long bar has no gap. */
const BAR_STEPS = 4;

/**
 * Draws a panel with characters, and its legend below. Series differ by symbol, not by color. An error bar is seen where
 * it is longer than a line.
 */
export function drawPanel(panel: ChartPanel): string {
  const { xMax, yMax } = panel;
  const measured = panel.series.filter(({ isTheory }) => !isTheory);
  const theory = panel.series.filter(({ isTheory }) => isTheory);
  const drawn = [...theory, ...measured.flatMap(barsOf), ...measured];
  const points = drawn.flatMap(({ points: own, symbol }) => own.map(([x, y]) => ({ x, y, symbol })));
  const symbolAt = new Map(points.map(({ x, y, symbol }) => [`${x} ${y}`, symbol]));
  const chart = plot(
    drawn.map((series) => series.points.map(([x, y]): [number, number] => [x, y])),
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
  const bars = drawn.some(({ symbol }) => symbol === BAR) ? [`${BAR} standard error`] : [];
  const legend = [...panel.series.map(({ symbol, name }) => `${symbol} ${name}`), ...bars].join('   ');
  const lines = [...chart.split('\n'), legend].map((line) => line.trimEnd());
  return inLocale(lines.filter((line) => line !== '').join('\n'));
}

/** The error bars of a series as points. */
function barsOf(series: ChartSeries): ChartSeries[] {
  const points = errorBars(series).flatMap(([x, from, to]) =>
    Array.from({ length: 2 * BAR_STEPS + 1 }, (_, step): [number, number] => [
      x,
      from + ((to - from) * step) / (2 * BAR_STEPS),
    ]),
  );
  return points.length === 0 ? [] : [{ name: '', symbol: BAR, color: series.color, isTheory: false, points }];
}
