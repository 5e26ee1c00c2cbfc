import type { FilterName } from '../family/membership-filter.ts';
import type { StructureResult } from './measure-structure.ts';

/** Recommends one of the measured structures for a purpose. */
export interface Recommendation {
  readonly need: string;
  /** The structure with the best figure. */
  readonly name: FilterName;
  /** Other structures that are not significantly worse, best first. */
  readonly ties: readonly FilterName[];
  /** The figures behind the recommendation. */
  readonly because: string;
}

interface Need {
  readonly need: string;
  readonly isFit: (result: StructureResult, rate: number) => boolean;
  /** The lowest cost wins. */
  readonly cost: (result: StructureResult) => number;
  readonly unit: string;
}

/** The same tolerance as for `growth.outcome`. */
const RATE_TOLERANCE = 1.25;
/** Times vary by about this factor between runs on a machine with other load, and sizes vary with n. */
const TIE_FACTOR = 1.25;

const keepsRate = ({ full }: StructureResult, rate: number): boolean => full.predictedRate <= rate * RATE_TOLERANCE;
const canGrow = ({ growth }: StructureResult): boolean => growth.outcome === 'grows';
const isExact = ({ full }: StructureResult): boolean => full.predictedRate === 0 && full.measuredRate === 0;
/** Deletes that leave the rate as it was have freed nothing. */
const canDelete = (result: StructureResult): boolean =>
  result.halved !== undefined && (isExact(result) || result.halved.predictedRate < result.full.predictedRate);
const isInMemory = ({ isOnDisk }: StructureResult): boolean => !isOnDisk;

const bits = ({ full }: StructureResult): number => full.bitsPerElement;
const BITS_UNIT = 'bits per element';

const NEEDS: readonly Need[] = [
  { need: 'a fixed set in the least memory', isFit: keepsRate, cost: bits, unit: BITS_UNIT },
  {
    need: 'the least memory if elements can be deleted',
    isFit: (result, rate) => keepsRate(result, rate) && canDelete(result),
    cost: bits,
    unit: BITS_UNIT,
  },
  {
    need: 'the least memory for an unknown number of elements',
    isFit: (result, rate) => keepsRate(result, rate) && canGrow(result) && isInMemory(result),
    cost: ({ growth }) => growth.bitsPerElement,
    unit: `${BITS_UNIT} after twice as many`,
  },
  {
    need: 'the quickest "no" for absent ids, with hashing',
    isFit: keepsRate,
    cost: ({ missNs }) => missNs,
    unit: 'ns per miss',
  },
  {
    need: 'the quickest "no" for absent ids, without hashing',
    isFit: keepsRate,
    cost: ({ uniform }) => uniform.missNs,
    unit: 'ns per miss',
  },
  {
    need: 'exact answers, deletes and growth in the least memory',
    isFit: (result) => isExact(result) && canDelete(result) && canGrow(result) && isInMemory(result),
    cost: bits,
    unit: BITS_UNIT,
  },
  {
    need: 'the location and reference count of each chunk',
    isFit: ({ name }) => name === 'ldm',
    cost: bits,
    unit: `${BITS_UNIT}, both kept`,
  },
  {
    need: 'more elements than fit in memory',
    isFit: ({ isOnDisk }) => isOnDisk,
    cost: ({ hitNs }) => hitNs,
    unit: 'ns per hit, on a disk',
  },
];

/** Returns the best structure and its ties for each need, and omits needs that no structure meets. */
export function recommend(results: readonly StructureResult[], falsePositiveRate: number): Recommendation[] {
  return NEEDS.flatMap(({ need, isFit, cost, unit }) => {
    const fit = results.filter((result) => isFit(result, falsePositiveRate)).toSorted((a, b) => cost(a) - cost(b));
    const [best, ...others] = fit;
    if (best === undefined) return [];
    const tied = others.filter((result) => cost(result) < cost(best) * TIE_FACTOR);
    const figures = [best, ...tied].map((result) => formatFigure(cost(result))).join(', ');
    return [{ need, name: best.name, ties: tied.map(({ name }) => name), because: `${figures} ${unit}` }];
  });
}

function formatFigure(figure: number): string {
  return figure.toFixed(figure < 100 ? 1 : 0);
}
