import type { ChainKind, GroupResult, SimulationResult } from './simulate.ts';
import { loadOptional } from '../../core/util/optional-package.ts';
import { chainPanels } from '../charts/chain-chart.ts';
import type { ChartPanel } from '../charts/chart.ts';
import { writeResultFile } from '../../console/output/result-file.ts';

/** The files to write. Undefined ones are not written. */
interface SimulationFiles {
  readonly svg?: string;
  readonly png?: string;
  readonly csv?: string;
}

/** Draws charts with optional packages. */
interface ChartPainter {
  readonly renderSvg: (panels: readonly ChartPanel[]) => Promise<string>;
  readonly renderPng?: (svg: string) => Uint8Array;
}

const SVG_PACKAGES = ['vega'] as const;
const PNG_PACKAGES = [...SVG_PACKAGES, '@resvg/resvg-js', 'dejavu-fonts-ttf'] as const;

/**
 * Loads the packages for the files before the long computation starts.
 * @throws MissingPackageError if a package is not installed
 */
export async function loadPainter({ svg, png }: SimulationFiles): Promise<ChartPainter | undefined> {
  const loadSvgChart = async (): Promise<typeof import('../charts/svg-chart.ts')> => import('../charts/svg-chart.ts');
  if (png !== undefined) {
    const [{ renderSvg }, { renderPng }] = await loadOptional('a chart as PNG', PNG_PACKAGES, async () =>
      Promise.all([loadSvgChart(), import('../charts/svg-chart.ts')]),
    );
    return { renderSvg, renderPng };
  }
  if (svg === undefined) return undefined;
  const { renderSvg } = await loadOptional('a chart as SVG', SVG_PACKAGES, loadSvgChart);
  return { renderSvg };
}

/** Writes the requested files. Returns their names. */
export async function writeSimulation(
  result: SimulationResult,
  files: SimulationFiles,
  painter: ChartPainter | undefined,
): Promise<string[]> {
  const written: string[] = [];
  const write = (path: string, content: string | Uint8Array): void => {
    writeResultFile(path, content);
    written.push(path);
  };
  if (files.csv !== undefined) write(files.csv, formatCsv(result));
  if (painter === undefined) return written;
  const svg = await painter.renderSvg(chainPanels(result.groups));
  if (files.svg !== undefined) write(files.svg, `${svg}\n`);
  if (files.png !== undefined && painter.renderPng !== undefined) write(files.png, painter.renderPng(svg));
  return written;
}

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
