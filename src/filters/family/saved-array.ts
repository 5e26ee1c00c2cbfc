import { MAX_CAPACITY } from '../../core/ldm/formulas.ts';
import { SLOTS_MAX } from '../../core/ldm/plane-cells.ts';
import { UsageError } from '../../core/errors.ts';
import { lowestRate, planGroup, type ArrayPlan } from './array-plan.ts';
import { BloomGroup } from './bloom-group.ts';
import { loadSlice, type Shape } from './bloom-slice.ts';
import { checkSaved, decodeSaved, isWholeNumber } from './saved-filter.ts';

const NAME = 'bloom-array';

export interface SavedArray {
  readonly plan: ArrayPlan;
  readonly groups: (BloomGroup | undefined)[];
  readonly unplaced: number;
}

/** A filter as it was saved; without ids it has no bytes. */
interface SavedPart {
  readonly elements: number | undefined;
  readonly deleted: number | undefined;
  readonly array: Uint8Array<ArrayBuffer>;
}

/** @throws CorruptDataError if `DynamicBloomArray.save` did not write the bytes */
export function loadArray(bytes: Uint8Array): SavedArray {
  const { numbers, arrays } = decodeSaved(NAME, bytes);
  const [filterCapacity, groupFilters, falsePositiveRate, unplaced, ...counts] = numbers;
  const isPlausible =
    isWholeNumber(filterCapacity, 1, MAX_CAPACITY) &&
    isWholeNumber(groupFilters, 1, SLOTS_MAX) &&
    falsePositiveRate! >= lowestRate(groupFilters) &&
    falsePositiveRate! < 1 &&
    isWholeNumber(unplaced, 0, Number.MAX_SAFE_INTEGER) &&
    counts.length === arrays.length * 2 &&
    arrays.length % groupFilters === 0;
  checkSaved(isPlausible, NAME, 'its numbers are inconsistent');
  const plan = { filterCapacity, groupFilters, falsePositiveRate: falsePositiveRate! };
  const parts = arrays.map((array, at) => ({ elements: counts[2 * at], deleted: counts[2 * at + 1], array }));
  const groups = Array.from({ length: parts.length / groupFilters }, (_, index) =>
    loadGroup(plan, parts.slice(index * groupFilters, (index + 1) * groupFilters), index),
  );
  const liveCount = groups.reduce((sum, group) => sum + (group?.liveCount ?? 0), 0);
  const isWhole = groups.length === 0 || groups.at(-1) !== undefined;
  checkSaved(isWhole && (unplaced === 0 || unplaced < liveCount), NAME, 'its counts are inconsistent');
  return { plan, groups, unplaced };
}

function loadGroup(plan: ArrayPlan, parts: readonly SavedPart[], index: number): BloomGroup | undefined {
  if (parts.every(({ elements, deleted, array }) => isEmpty(elements, deleted) && array.length === 0)) return undefined;
  const shape = shapeOf(plan, index);
  checkSaved(shape !== undefined, NAME, `its group ${index} is not possible`);
  const group = new BloomGroup(shape, plan.groupFilters);
  for (const [slot, { elements, deleted, array }] of parts.entries()) {
    if (isEmpty(elements, deleted) && array.length === 0) continue;
    const isCounted = isWholeNumber(elements, 1, plan.filterCapacity) && isWholeNumber(deleted, 0, elements - 1);
    const slice = isCounted ? loadSlice(array, shape.positions, elements) : undefined;
    checkSaved(isCounted && slice !== undefined, NAME, `filter ${slot} of group ${index} does not match the numbers`);
    group.replace(slot, slice, deleted);
  }
  return group;
}

/** -0 is not how `save` writes it. */
function isEmpty(elements: number | undefined, deleted: number | undefined): boolean {
  return Object.is(elements, 0) && Object.is(deleted, 0);
}

function shapeOf(plan: ArrayPlan, index: number): Shape | undefined {
  try {
    return planGroup(plan, index);
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}
