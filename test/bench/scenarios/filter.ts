import type { BenchSize, Scenario } from '../bench-types.ts';

const chunkCounts: Readonly<Record<BenchSize, number>> = { full: 10_000_000, small: 10_000 };

/** The LDM filter alone, at ten million chunks: what it costs to ask and change, and to save and load its image. */
export const filter: Scenario = {
  slug: 'filter',
  datasets: [],
  run: async (bench) => {
    // Loaded when they run: the other scenarios measure the built program and need nothing of src.
    const { runFilterBench } = await import('../filter.bench.ts');
    const { runImageBench } = await import('../image.bench.ts');
    const chunkCount = chunkCounts[bench.size];
    const image = await runImageBench(chunkCount, bench.workspace.directory);
    const figures = { ...prefixed('filter', { ...runFilterBench(chunkCount) }), ...prefixed('image', { ...image }) };
    return { slug: 'filter', title: 'the LDM filter alone', measurements: [], figures };
  },
};

function prefixed(prefix: string, figures: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [`${prefix}.${name}`, value]));
}
