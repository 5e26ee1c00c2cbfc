import type { BenchSize, Scenario } from '../bench-types.ts';

const chunkCounts: Readonly<Record<BenchSize, number>> = { full: 10_000_000, small: 10_000 };
const sharedCounts: Readonly<Record<BenchSize, number>> = { full: 1_000_000, small: 10_000 };
const probeCounts: Readonly<Record<BenchSize, number>> = { full: 100_000_000, small: 10_000 };
/** Of the 640 chunks that the filter is planned for: formula (1) holds for a full filter, not for one that is nearly empty. */
const fills = [6, 42, 160, 640];

/**
 * The LDM filter alone, at ten million chunks: the cost of look-ups and changes, and of saving and loading its image.
 * Then its false positive rate, predicted and measured, and the counting filter that threads share.
 */
export const filter: Scenario = {
  slug: 'filter',
  datasets: [],
  run: async (bench) => {
    // Loaded when they run: the other scenarios measure the built program and need nothing of src.
    const { runFilterBench } = await import('../filter.bench.ts');
    const { runImageBench } = await import('../image.bench.ts');
    const { runFalsePositiveBench } = await import('../false-positives.bench.ts');
    const { runSharedFilterBench } = await import('../shared-filter.bench.ts');
    bench.touchMemory();
    const chunkCount = chunkCounts[bench.size];
    const image = await runImageBench(chunkCount, bench.workspace.directory);
    const rates = fills.map((elements) =>
      prefixed(`rate.${elements}`, { ...runFalsePositiveBench(elements, probeCounts[bench.size]) }),
    );
    const shared = prefixed('threads', await runSharedFilterBench(sharedCounts[bench.size]));
    const filterFigures = prefixed('filter', { ...runFilterBench(chunkCount) });
    const figures = Object.assign(
      filterFigures,
      prefixed('image', { ...image }),
      ...rates,
      shared,
    ) as typeof filterFigures;
    return {
      slug: 'filter',
      title: 'the LDM filter alone',
      targets: [{ measure: { figure: 'image.memoryBytesPerChunk' }, must: { value: 56 }, aim: { value: 48 } }],
      measurements: [],
      figures,
    };
  },
};

function prefixed(prefix: string, figures: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [`${prefix}.${name}`, value]));
}
