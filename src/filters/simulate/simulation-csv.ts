import type { ChainKind, GroupResult, SimulationResult } from './simulate.ts';

const CSV_HEAD = 'seed,runs,hashes,elements_max,positions,elements,filter,mean,standard_error,min,max,expected';

/** For each kind of chain: the values for the columns `filter` and `positions`. */
const ROWS: readonly (readonly [kind: ChainKind, name: string, positions: (group: GroupResult) => number])[] = [
  ['ldm', 'ldm', ({ positions }) => positions],
  ['dibf', 'dibf', ({ side }) => side ** 2],
  ['ldmFilter', 'ldm_filter', ({ plan }) => plan.positions],
  ['ldmFilterSaved', 'ldm_filter_saved', ({ plan }) => plan.capacity],
  ['dibfFilter', 'dibf_filter', ({ side }) => side ** 2],
];

/** One line per sample and kind of chain, with the settings that reproduce it. */
export function formatCsv({ seed, runs, hashes, groups }: SimulationResult): string {
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
