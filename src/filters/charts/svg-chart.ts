import { parse, View } from 'vega';
import type { Mark, Scale, Spec } from 'vega';
import { errorBars, type ChartPanel, type ChartSeries } from './chart.ts';

const PANEL_WIDTH = 340;
const PANEL_HEIGHT = 260;
const LEGEND_COLUMNS_MAX = 5;
/** Fewer if the axis is shorter: its values are whole numbers. */
const Y_TICKS_MAX = 10;
/** The PNG always uses the first font. A browser may fall back to the second. */
const FONT = 'DejaVu Sans, sans-serif';

/** Returns panels side by side as one SVG document. It depends only on the panels: no time, no random number. */
export async function renderSvg(panels: readonly ChartPanel[]): Promise<string> {
  return await new View(parse(specify(panels)), { renderer: 'none' }).toSVG();
}

function specify(panels: readonly ChartPanel[]): Spec {
  // Panels may have series in common.
  const series = [...new Map(panels.flatMap((panel) => panel.series).map((each) => [each.name, each])).values()];
  const names = series.map(({ name }) => name);
  return {
    background: 'white',
    padding: 12,
    layout: { padding: 48, columns: panels.length },
    config: {
      axis: { labelFont: FONT, titleFont: FONT, titleFontWeight: 'normal', gridColor: '#e4e4e4' },
      legend: { labelFont: FONT },
      title: { font: FONT, fontWeight: 'normal' },
    },
    scales: [
      { name: 'color', type: 'ordinal', domain: names, range: series.map(({ color }) => color) },
      { name: 'dash', type: 'ordinal', domain: names, range: series.map(dashOf) },
    ],
    legends: [
      {
        stroke: 'color',
        strokeDash: 'dash',
        symbolType: 'stroke',
        orient: 'bottom',
        columns: Math.min(names.length, LEGEND_COLUMNS_MAX),
        columnPadding: 24,
      },
    ],
    marks: panels.map(specifyPanel),
  };
}

function specifyPanel(panel: ChartPanel, index: number): Mark {
  const x = `x${index}`;
  const y = `y${index}`;
  return {
    type: 'group',
    title: { text: panel.title },
    encode: { update: { width: { value: PANEL_WIDTH }, height: { value: PANEL_HEIGHT } } },
    // These signals set the length of the grid lines.
    signals: [
      { name: 'width', init: String(PANEL_WIDTH) },
      { name: 'height', init: String(PANEL_HEIGHT) },
    ],
    scales: [scaleFor(x, [0, PANEL_WIDTH], panel.xMax), scaleFor(y, [PANEL_HEIGHT, 0], panel.yMax)],
    axes: [
      { orient: 'bottom', scale: x, title: panel.xTitle, tickCount: 5 },
      {
        orient: 'left',
        scale: y,
        title: panel.yTitle,
        grid: true,
        tickCount: Math.min(panel.yMax, Y_TICKS_MAX),
        format: 'd',
      },
    ],
    data: panel.series.map((series, at) => ({
      name: `series${index}-${at}`,
      values: series.points.map(([px, py]) => ({ x: px, y: py })),
    })),
    marks: panel.series.flatMap((series, at) => marksOf(series, `series${index}-${at}`, { x, y })),
  };
}

function scaleFor(name: string, range: [number, number], highest: number): Scale {
  return { name, type: 'linear', domain: [0, highest], range, nice: false };
}

function marksOf(series: ChartSeries, data: string, scales: { readonly x: string; readonly y: string }): Mark[] {
  const stroke = { value: series.color };
  const x = { scale: scales.x, field: 'x' };
  const y = { scale: scales.y, field: 'y' };
  const line: Mark = {
    type: 'line',
    from: { data },
    encode: { enter: { x, y, stroke, strokeDash: { value: dashOf(series) }, strokeWidth: { value: 1.6 } } },
  };
  const bars = errorBars(series).map(([at, from, to]): Mark => {
    const ends = { y: { scale: scales.y, value: from }, y2: { scale: scales.y, value: to } };
    return { type: 'rule', encode: { enter: { x: { scale: scales.x, value: at }, ...ends, stroke } } };
  });
  const dots: Mark = {
    type: 'symbol',
    from: { data },
    encode: { enter: { x, y, fill: stroke, size: { value: 26 } } },
  };
  return series.isTheory ? [line] : [line, ...bars, dots];
}

function dashOf({ isTheory }: ChartSeries): number[] {
  return isTheory ? [5, 4] : [1, 0];
}
