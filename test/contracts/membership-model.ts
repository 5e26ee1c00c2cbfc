import { expect } from 'vitest';

import { FilterFullError } from '../../src/core/errors.ts';
import type { ErasableFilter, MembershipFilter } from '../../src/filters/family/membership-filter.ts';
import type { MembershipSubject } from './membership-subject.ts';

export const stepKinds = ['add', 'add', 'add', 'delete', 'has', 'save'] as const;
type StepKind = (typeof stepKinds)[number];

/** Does the steps, and compares with a Map from the id to how often it is in. */
export function runSteps<F extends MembershipFilter>(
  subject: MembershipSubject<F>,
  pool: readonly Uint8Array[],
  falsePositiveRate: number,
  steps: readonly (readonly [StepKind, number])[],
): void {
  const capacity = Math.max(1, steps.filter(([kind]) => kind === 'add').length);
  let filter = subject.make({ capacity, falsePositiveRate });
  const counts = new Map<Uint8Array, number>();
  let isBuilt = false;
  for (const [kind, choice] of steps) {
    const id = pool[choice % pool.length]!;
    const count = counts.get(id) ?? 0;
    if (kind === 'add' && isBuilt) {
      expect(() => filter.add(id)).toThrow(FilterFullError);
    } else if (kind === 'add' && count < 3) {
      filter.add(id);
      counts.set(id, subject.countsTwice === true ? count + 1 : 1);
    } else if (kind === 'delete' && subject.erasable === true) {
      const isDeleted = checkDelete(subject, filter as unknown as ErasableFilter, id, count);
      counts.set(id, isDeleted ? count - 1 : count);
    } else if (kind === 'save') {
      filter = subject.load(filter.save());
      isBuilt = subject.static === true;
    }
    if (subject.exact === true) expect(filter.has(id)).toBe((counts.get(id) ?? 0) > 0);
  }
  for (const [id, count] of counts) if (count > 0) expect(filter.has(id)).toBe(true);
  if (subject.estimatesElements === true) return;
  expect(filter.elements).toBe([...counts.values()].reduce((sum, count) => sum + count, 0));
}

/** Deletes an id that is in, or certainly absent. Returns whether it was deleted. */
function checkDelete(
  { refusesDeletes = false }: Pick<MembershipSubject<MembershipFilter>, 'refusesDeletes'>,
  filter: ErasableFilter,
  id: Uint8Array,
  count: number,
): boolean {
  if (count === 0 && filter.has(id)) return false;
  const before = filter.save();
  const isDeleted = filter.delete(id);
  if (count > 0 && !refusesDeletes) expect(isDeleted).toBe(true);
  if (count === 0) expect(isDeleted).toBe(false);
  if (!isDeleted) expect(Buffer.compare(filter.save(), before)).toBe(0);
  return isDeleted;
}
