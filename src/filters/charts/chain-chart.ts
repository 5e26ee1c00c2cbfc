import type { ChainSample, GroupResult, LongestChain } from '../simulate/simulate.ts';
import { formatCount } from '../../console/output/words.ts';
import type { ChartPanel, ChartSeries } from './chart.ts';

type Structure = 'ldm' | 'dibf';

const LOOKS: Readonly<Record<Structure, { readonly name: string; readonly symbol: string; readonly color: string }>> = {
  ldm: { name: 'LDM', symbol: 'L', color: '#1f6fb4' },
  dibf: { name: 'DIBF', symbol: 'D', color: '#d1600e' },
};

/** One group of the experiment: the mean of the longest chain over the number of chunks stored, with the theory. */
export function chainPanel(group: GroupResult): ChartPanel {
  return {
    title: `n = ${formatCount(group.elements)}, m = ${formatCount(group.positions)}`,
    xTitle: 'chunks in the store',
    yTitle: 'longest chain',
    series: [
      theorySeries(group, 'dibf'),
      theorySeries(group, 'ldm'),
      measuredSeries(group, 'dibf'),
      measuredSeries(group, 'ldm'),
    ],
  };
}

function theorySeries(group: GroupResult, structure: Structure): ChartSeries {
  const { name, color } = LOOKS[structure];
  const points = pointsOf(group.samples, structure, ({ expected }) => expected);
  return { name: `${name} by theory`, symbol: '·', color, isTheory: true, points };
}

function measuredSeries(group: GroupResult, structure: Structure): ChartSeries {
  const points = pointsOf(group.samples, structure, ({ mean }) => mean);
  return { ...LOOKS[structure], isTheory: false, points };
}

function pointsOf(
  samples: readonly ChainSample[],
  structure: Structure,
  value: (chain: LongestChain) => number,
): [number, number][] {
  return samples.map((sample) => [sample.elements, value(sample[structure])]);
}
