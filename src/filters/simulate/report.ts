import type { ChainKind, GroupResult, LongestChain, SimulationResult } from './simulate.ts';
import { chainPanels } from '../charts/chain-chart.ts';
import { drawPanel } from '../charts/terminal-chart.ts';
import { inLocale } from '../../console/output/locale.ts';
import { byteListFields } from '../../console/output/byte-fields.ts';
import type { Output } from '../../console/output/output.ts';
import { recoverBytes } from '../../console/input/raw-arguments.ts';
import { formatTable } from '../../console/output/tables.ts';
import { countNoun, formatCount, formatPercent } from '../../console/output/words.ts';

/** Reports `filter simulate`: a table and a chart per group, then the chains of full stores, also in ldm's classes. */
export function reportSimulation(output: Output, result: SimulationResult, files: readonly string[]): void {
  output.message('simulation', { ...simulationFields(result), ...byteListFields('files', recoverBytes(files)) });
  if (output.json) return;
  const { runs, seed, hashes } = result;
  output.line(`Longest chain, mean of ${countNoun(runs, 'run')} (k = ${hashes}, seed ${seed})`);
  const panels = chainPanels(result.groups);
  for (const [index, group] of result.groups.entries()) {
    output.line('');
    output.line(describeGroup(group));
    output.line('');
    output.line(drawPanel(panels[index]!));
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

/** The mean with its standard error, and the theoretical value. */
function chainCells({ mean, standardError, expected }: LongestChain): string[] {
  return [inLocale(`${mean.toFixed(2)} ± ${standardError.toFixed(2)}`), expected.toFixed(2)];
}

/** The rows of the last table: the kind of chain and where it was measured. */
const ROWS: readonly (readonly [kind: ChainKind, filter: string, chains: string, measuredIn: string])[] = [
  ['ldm', 'LDM', 'by link position', 'arrays, k hash values'],
  ['ldmFilter', 'LDM', 'by link position', 'LdmFilter'],
  ['ldmFilterSaved', 'LDM', 'as saved', 'LdmFilter'],
  ['dibf', 'DIBF', 'by cell', 'arrays, k hash values'],
  ['dibfFilter', 'DIBF', 'by cell', 'DibfFilter'],
];

function describeFullStores({ groups }: SimulationResult): string {
  const rows = groups.flatMap(({ elements, samples }) =>
    ROWS.map(([kind, filter, chains, measuredIn]) => {
      const chain = samples.at(-1)![kind];
      const range = `${chain.min} to ${chain.max}`;
      return [formatCount(elements), filter, chains, measuredIn, ...chainCells(chain), range];
    }),
  );
  const head = ['chunks', 'filter', 'chains', 'measured in', 'mean', 'theory', 'range'];
  return `Full stores\n${formatTable(rows, { head, rightAligned: [0, 4, 5, 6], indent: '  ' })}`;
}

function simulationFields({ runs, seed, hashes, groups }: SimulationResult): Record<string, unknown> {
  return {
    seed,
    runs,
    hashes,
    groups: groups.map((group) => ({
      elements: group.elements,
      positions: group.positions,
      ldm_filter_positions: group.plan.positions,
      dibf_side: group.side,
      samples: group.samples.map((sample) => ({
        elements: sample.elements,
        ldm: chainFields(sample.ldm),
        dibf: chainFields(sample.dibf),
        ldm_filter: chainFields(sample.ldmFilter),
        ldm_filter_saved: chainFields(sample.ldmFilterSaved),
        dibf_filter: chainFields(sample.dibfFilter),
      })),
    })),
  };
}

function chainFields({ mean, standardError, min, max, expected }: LongestChain): Record<string, number> {
  return { mean, standard_error: standardError, min, max, expected };
}
