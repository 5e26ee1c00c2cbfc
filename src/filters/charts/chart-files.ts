import { loadOptional } from '../../core/util/optional-package.ts';
import { checkResultFile, writeResultFile } from '../../console/output/result-file.ts';
import type { ChartPanel } from './chart.ts';

/** The files to write. Undefined ones are not written. */
export interface ResultFiles {
  readonly svg?: string | undefined;
  readonly png?: string | undefined;
  readonly csv?: string | undefined;
}

/** Draws charts with optional packages. */
interface ChartPainter {
  readonly renderSvg: (panels: readonly ChartPanel[]) => Promise<string>;
  readonly renderPng?: (svg: string) => Uint8Array;
}

const SVG_PACKAGES = ['vega'] as const;
const PNG_PACKAGES = [...SVG_PACKAGES, '@resvg/resvg-js', 'dejavu-fonts-ttf'] as const;

/** Writes the results of a computation as a chart and as CSV. */
export class ResultWriter {
  readonly #files: ResultFiles;
  readonly #painter: ChartPainter | undefined;

  private constructor(files: ResultFiles, painter: ChartPainter | undefined) {
    this.#files = files;
    this.#painter = painter;
  }

  /**
   * Checks the names and loads the packages, before a long computation starts.
   * @throws UsageError if a file cannot be written
   * @throws MissingPackageError if a package is not installed
   */
  static async prepare(files: ResultFiles): Promise<ResultWriter> {
    for (const file of [files.svg, files.png, files.csv]) if (file !== undefined) checkResultFile(file);
    return new ResultWriter(files, await loadPainter(files));
  }

  /** Writes the requested files. Returns their names. */
  async write(panels: readonly ChartPanel[], formatCsv: () => string): Promise<string[]> {
    const { csv, svg, png } = this.#files;
    const written: string[] = [];
    const write = (path: string, content: string | Uint8Array): void => {
      writeResultFile(path, content);
      written.push(path);
    };
    if (csv !== undefined) write(csv, formatCsv());
    if (this.#painter === undefined) return written;
    const image = await this.#painter.renderSvg(panels);
    if (svg !== undefined) write(svg, `${image}\n`);
    if (png !== undefined && this.#painter.renderPng !== undefined) write(png, this.#painter.renderPng(image));
    return written;
  }
}

async function loadPainter({ svg, png }: ResultFiles): Promise<ChartPainter | undefined> {
  const loadSvg = async (): Promise<ChartPainter> => import('./svg-chart.ts');
  if (png !== undefined) {
    const load = async (): Promise<ChartPainter> => ({ ...(await loadSvg()), ...(await import('./png-chart.ts')) });
    return await loadOptional('a chart as PNG', PNG_PACKAGES, load);
  }
  return svg === undefined ? undefined : await loadOptional('a chart as SVG', SVG_PACKAGES, loadSvg);
}
