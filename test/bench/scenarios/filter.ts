import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { BenchSize, Scenario } from '../bench-types.ts';

type Figures = Readonly<Record<string, number | string>>;

interface FilterBenchModule {
  readonly runFilterBench: (options: { readonly size: BenchSize }) => Figures | Promise<Figures>;
}

/** The LDM filter alone, at ten million chunks. */
export const filter: Scenario = {
  slug: 'filter',
  datasets: [],
  run: async (bench) => {
    // Found by its address at run time: this file runs as TypeScript in the tests and compiled as a program.
    const location = ['.ts', '.js']
      .map((ending) => new URL(`../filter.bench${ending}`, import.meta.url))
      .find((url) => existsSync(fileURLToPath(url)));
    const result = { slug: 'filter', title: 'the LDM filter alone', measurements: [] };
    if (location === undefined) return result;
    const { runFilterBench } = (await import(location.href)) as FilterBenchModule;
    return { ...result, figures: await runFilterBench({ size: bench.size }) };
  },
};
