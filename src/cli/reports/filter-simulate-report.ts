import type { GroupResult, LongestChain, SimulationResult } from '../../operations/filter/simulate.ts';
import { chainPanel } from '../charts/chain-chart.ts';
import { drawPanel } from '../charts/terminal-chart.ts';
import type { Output } from '../output.ts';
import { formatTable } from '../tables.ts';
import { countNoun, formatCount, formatPercent } from '../words.ts';

/** `filter simulate`: a table and a chart for each group, then the full stores beside what was published. */
export function reportSimulation(output: Output, result: SimulationResult, files: readonly string[]): void {
  output.message('simulation', { ...simulationFields(result), files });
  if (output.json) return;
  const { runs, seed, hashes } = result;
  output.line(`Longest chain, mean of ${countNoun(runs, 'run')} (k = ${hashes}, seed ${seed})`);
  for (const group of result.groups) {
    output.line('');
    output.line(describeGroup(group));
    output.line('');
    output.line(drawPanel(chainPanel(group)));
  }
  output.line('');
  output.line(describeFullStores(result));
  for (const file of files) output.remark(`wrote ${file}`);
}

function describeGroup({ elements, positions, side, samples }: GroupResult): string {
  const heading = `n = ${formatCount(elements)}: LDM with m = ${formatCount(positions)}, DIBF with ${side} x ${side} cells`;
  const rows = samples.map((sample) => [
    formatCount(sample.elements),
    formatPercent(sample.elements / elements),
    ...chainCells(sample.ldm),
    ...chainCells(sample.dibf),
  ]);
  const head = ['chunks', 'full', 'LDM', 'theory', 'DIBF', 'theory'];
  return `${heading}\n${formatTable(rows, { head, rightAligned: [0, 1, 2, 3, 4, 5], indent: '  ' })}`;
}

/** The mean with its standard error, and what theory predicts. */
function chainCells({ mean, standardError, expected }: LongestChain): string[] {
  return [`${mean.toFixed(2)} ± ${standardError.toFixed(2)}`, expected.toFixed(2)];
}

function describeFullStores({ groups }: SimulationResult): string {
  const rows = groups.flatMap(({ elements, samples, published }) =>
    (['ldm', 'dibf'] as const).map((structure) => {
      const chain = samples.at(-1)![structure];
      const range = `${chain.min} to ${chain.max}`;
      return [
        formatCount(elements),
        structure.toUpperCase(),
        ...chainCells(chain),
        published[structure].toFixed(1),
        range,
      ];
    }),
  );
  const head = ['chunks', 'filter', 'mean', 'theory', 'published', 'range'];
  return `Full stores\n${formatTable(rows, { head, rightAligned: [0, 2, 3, 4, 5], indent: '  ' })}`;
}

function simulationFields({ runs, seed, hashes, groups }: SimulationResult): Record<string, unknown> {
  return {
    seed,
    runs,
    hashes,
    groups: groups.map((group) => ({
      elements: group.elements,
      positions: group.positions,
      dibf_side: group.side,
      published: group.published,
      samples: group.samples.map(({ elements, ldm, dibf }) => ({
        elements,
        ldm: chainFields(ldm),
        dibf: chainFields(dibf),
      })),
    })),
  };
}

function chainFields({ mean, standardError, min, max, expected }: LongestChain): Record<string, number> {
  return { mean, standard_error: standardError, min, max, expected };
}
