import type { ChainKind, GroupResult, SimulationResult } from '../../operations/filter/simulate.ts';
import { chainPanel } from '../charts/chain-chart.ts';
import { writeResultFile } from '../result-file.ts';

/** Where to write what; nothing is written for what is undefined. */
export interface SimulationFiles {
  readonly svg?: string;
  readonly png?: string;
  readonly csv?: string;
}

/** Writes the files that were asked for. Returns their names. */
export async function writeSimulation(result: SimulationResult, files: SimulationFiles): Promise<string[]> {
  const written: string[] = [];
  const write = (path: string, content: string | Uint8Array): void => {
    writeResultFile(path, content);
    written.push(path);
  };
  if (files.csv !== undefined) write(files.csv, formatCsv(result));
  if (files.svg === undefined && files.png === undefined) return written;
  const { renderSvg } = await import('../charts/svg-chart.ts');
  const svg = await renderSvg(result.groups.map(chainPanel));
  if (files.svg !== undefined) write(files.svg, `${svg}\n`);
  if (files.png !== undefined) {
    const { renderPng } = await import('../charts/png-chart.ts');
    write(files.png, renderPng(svg));
  }
  return written;
}

const CSV_HEAD = 'seed,runs,hashes,elements_max,positions,elements,filter,mean,standard_error,min,max,expected';

/** The places on which chains hang, as the column `positions` and the names of the column `filter`. */
const ROWS: readonly (readonly [kind: ChainKind, name: string, positions: (group: GroupResult) => number])[] = [
  ['ldm', 'ldm', ({ positions }) => positions],
  ['dibf', 'dibf', ({ side }) => side ** 2],
  ['ldmFilter', 'ldm_filter', ({ plan }) => plan.positions],
  ['ldmFilterWalked', 'ldm_filter_walked', ({ plan }) => plan.capacity],
  ['dibfFilter', 'dibf_filter', ({ side }) => side ** 2],
];

/** One line for each sample and kind of chain, with the settings that give the same line again. */
function formatCsv({ seed, runs, hashes, groups }: SimulationResult): string {
  const lines = groups.flatMap((group) =>
    group.samples.flatMap((sample) =>
      ROWS.map(([kind, name, positions]) => {
        const { mean, standardError, min, max, expected } = sample[kind];
        const figures = [mean, standardError, min, max, expected];
        return [seed, runs, hashes, group.elements, positions(group), sample.elements, name, ...figures].join(',');
      }),
    ),
  );
  return `${[CSV_HEAD, ...lines].join('\n')}\n`;
}
