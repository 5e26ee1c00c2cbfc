import type { GroupResult, LongestChain } from '../simulate/simulate.ts';
import { formatCount } from '../../console/output/words.ts';
import { highestOf, type ChartPanel, type ChartSeries } from './chart.ts';

type Structure = 'ldm' | 'dibf';

const LOOKS: Readonly<Record<Structure, { readonly name: string; readonly symbol: string; readonly color: string }>> = {
  ldm: { name: 'LDM', symbol: 'L', color: '#1f6fb4' },
  dibf: { name: 'DIBF', symbol: 'D', color: '#d1600e' },
};

/**
 * For each group of the experiment, the mean of the longest chain over the part of the store that is full, with the
 * theory. Both axes of all panels are the same, so that the groups can be compared.
 */
export function chainPanels(groups: readonly GroupResult[]): ChartPanel[] {
  const panels = groups.map((group) => [
    theorySeries(group, 'dibf'),
    theorySeries(group, 'ldm'),
    measuredSeries(group, 'dibf'),
    measuredSeries(group, 'ldm'),
  ]);
  const yMax = Math.ceil(highestOf(panels.flat()));
  return groups.map((group, index) => ({
    title: `n = ${formatCount(group.elements)}, m = ${formatCount(group.positions)}`,
    xTitle: 'chunks in the store, % of n',
    yTitle: 'longest chain',
    xMax: 100,
    yMax,
    series: panels[index]!,
  }));
}

function theorySeries(group: GroupResult, structure: Structure): ChartSeries {
  const { name, color } = LOOKS[structure];
  const points = pointsOf(group, structure, ({ expected }) => expected);
  return { name: `${name} by theory`, symbol: '·', color, isTheory: true, points };
}

function measuredSeries(group: GroupResult, structure: Structure): ChartSeries {
  const points = pointsOf(group, structure, ({ mean }) => mean);
  const errors = group.samples.map((sample) => sample[structure].standardError);
  return { ...LOOKS[structure], isTheory: false, points, errors };
}

function pointsOf(
  { samples, elements }: GroupResult,
  structure: Structure,
  value: (chain: LongestChain) => number,
): [number, number][] {
  return samples.map((sample) => [(sample.elements / elements) * 100, value(sample[structure])]);
}
