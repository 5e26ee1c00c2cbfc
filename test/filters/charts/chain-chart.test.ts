import { describe, expect, it } from 'vitest';

import { chainPanels } from '../../../src/filters/charts/chain-chart.ts';
import { errorBars } from '../../../src/filters/charts/chart.ts';
import { renderSvg } from '../../../src/filters/charts/svg-chart.ts';
import { drawPanel } from '../../../src/filters/charts/terminal-chart.ts';
import { simulateChains } from '../../../src/filters/simulate/simulate.ts';

const { groups } = await simulateChains({ runs: 2, seed: 3, samples: 4 });
const panels = chainPanels(groups);

describe('the charts of the experiment', () => {
  it('have the same axes for both stores, in which all means and error bars are', async () => {
    const ends = panels.map(({ xMax, yMax }) => ({ xMax, yMax }));
    expect(ends[1]).toEqual(ends[0]);
    const tops = groups.flatMap(({ samples }) => samples.map(({ dibf }) => dibf.mean + dibf.standardError));
    expect(ends[0]).toEqual({ xMax: 100, yMax: Math.ceil(Math.max(...tops)) });
    const svg = await renderSvg(panels);
    for (const [letter, end] of [
      ['X', 100],
      ['Y', ends[0]!.yMax],
    ]) {
      const axes = svg.match(
        new RegExp(`${letter}-axis titled '[^']*' for a linear scale with values from 0 to ${end}"`, 'g'),
      );
      expect(axes, `${letter}`).toHaveLength(2);
    }
  });

  it('have few lines however high an axis is', async () => {
    const linesOf = async (yMax: number): Promise<number> =>
      (await renderSvg([{ ...panels[0]!, yMax }])).split('<line').length;
    expect(await linesOf(5000)).toBeLessThanOrEqual((await linesOf(10)) + 4);
  });

  it('have an error bar at each mean that has an error', async () => {
    const errors = groups.flatMap(({ samples }) => samples.flatMap(({ ldm, dibf }) => [ldm, dibf]));
    const withError = errors.filter(({ standardError }) => standardError > 0);
    expect(withError.length).toBeGreaterThan(3);
    const bars = panels.flatMap(({ series }) => series.flatMap((one) => errorBars(one)));
    const ascending = (lengths: number[]): number[] =>
      lengths.map((length) => Number(length.toFixed(9))).toSorted((x, y) => x - y);
    const expected = ascending(withError.map(({ standardError }) => 2 * standardError));
    expect(ascending(bars.map(([, from, to]) => to - from))).toEqual(expected);
    const count = (svg: string): number => svg.split('role-mark').length;
    const without = panels.map((panel) => ({ ...panel, series: panel.series.map((one) => ({ ...one, errors: [] })) }));
    expect(count(await renderSvg(panels)) - count(await renderSvg(without))).toBe(bars.length);
    expect(drawPanel(panels[0]!)).toContain('¦ standard error');
    expect(drawPanel(without[0]!)).not.toContain('¦');
  });
});
