import type { FilterName } from '../../../filters/membership-filter.ts';
import type { StructureResult } from './measure-structure.ts';

/** Which of the structures that were measured to take for what. */
export interface Recommendation {
  readonly need: string;
  readonly name: FilterName;
  /** The figure that decided. */
  readonly because: string;
}

interface Need {
  readonly need: string;
  readonly isFit: (result: StructureResult, rate: number) => boolean;
  /** The least wins. */
  readonly cost: (result: StructureResult) => number;
  readonly because: (result: StructureResult) => string;
}

/** As `growth.outcome` is decided. */
const RATE_TOLERANCE = 1.25;

const keepsRate = ({ full }: StructureResult, rate: number): boolean => full.predictedRate <= rate * RATE_TOLERANCE;
const canDelete = ({ halved }: StructureResult): boolean => halved !== undefined;
const canGrow = ({ growth }: StructureResult): boolean => growth.outcome === 'grows';
const isExact = ({ full }: StructureResult): boolean => full.predictedRate === 0 && full.measuredRate === 0;
const isInMemory = ({ isOnDisk }: StructureResult): boolean => !isOnDisk;

const bits = ({ full }: StructureResult): number => full.bitsPerElement;
const bitsText = ({ full }: StructureResult): string => `${full.bitsPerElement.toFixed(1)} bits per element`;

const NEEDS: readonly Need[] = [
  { need: 'a fixed set in the least memory', isFit: keepsRate, cost: bits, because: bitsText },
  {
    need: 'the least memory where elements are deleted again',
    isFit: (result, rate) => keepsRate(result, rate) && canDelete(result),
    cost: bits,
    because: bitsText,
  },
  {
    need: 'the least memory where nobody knows how many will come',
    isFit: (result, rate) => keepsRate(result, rate) && canGrow(result) && isInMemory(result),
    cost: ({ growth }) => growth.bitsPerElement,
    because: ({ growth }) => `${growth.bitsPerElement.toFixed(1)} bits per element after twice as many`,
  },
  {
    need: 'the quickest "no" for what is absent',
    isFit: keepsRate,
    cost: ({ missNs }) => missNs,
    because: ({ missNs }) => `${missNs.toFixed(0)} ns per miss`,
  },
  {
    need: 'exact answers, deletes and growth in the least memory',
    isFit: (result) => isExact(result) && canDelete(result) && canGrow(result) && isInMemory(result),
    cost: bits,
    because: bitsText,
  },
  {
    need: 'where a chunk is, and how often it is needed',
    isFit: ({ name }) => name === 'ldm',
    cost: bits,
    because: (result) => `keeps both, in ${bitsText(result)}`,
  },
  {
    need: 'more than memory holds',
    isFit: ({ isOnDisk }) => isOnDisk,
    cost: bits,
    because: ({ hitNs }) => `on a disk, ${hitNs.toFixed(0)} ns per hit`,
  },
];

/** The verdict: for each need the best of what was measured, and nothing where none would do. */
export function recommend(results: readonly StructureResult[], falsePositiveRate: number): Recommendation[] {
  return NEEDS.flatMap(({ need, isFit, cost, because }) => {
    const fit = results.filter((result) => isFit(result, falsePositiveRate));
    if (fit.length === 0) return [];
    const best = fit.reduce((least, result) => (cost(result) < cost(least) ? result : least));
    return [{ need, name: best.name, because: because(best) }];
  });
}
