import { RefusedError, UsageError } from '../../errors.ts';
import { MAX_REFS, isCopyCount } from '../../format/group-list.ts';
import type { CopyRules } from '../../format/group-list.ts';

/** Returns the largest number of copies that the rules can ask for. */
export function mostCopies({ copies, copiesIfRefs }: CopyRules): number {
  return Math.max(copies, copiesIfRefs?.copies ?? 1);
}

/** @throws RefusedError if fewer groups would remain than copies are wanted */
export function assertEnoughFor(rules: CopyRules, groupCount: number): void {
  const most = mostCopies(rules);
  if (most <= groupCount) return;
  throw new RefusedError(`${most} copies need ${most} groups, and ${groupCount} would remain`, {
    advice: { code: 'change-copies' },
  });
}

/** @throws UsageError if the rules cannot be followed with this number of groups */
export function assertRules({ copies, copiesIfRefs }: CopyRules, groupCount: number): void {
  for (const count of [copies, copiesIfRefs?.copies ?? copies]) {
    if (!isCopyCount(count)) throw new UsageError(`invalid number of copies: ${count}`);
    if (count <= groupCount) continue;
    throw new UsageError(
      `${count} copies need ${count} groups, and there ${groupCount === 1 ? 'is' : 'are'} ${groupCount}`,
      {
        hint: 'Two copies of the same data are never in the same group.',
      },
    );
  }
  if (copiesIfRefs === undefined) return;
  const { refs, copies: many } = copiesIfRefs;
  if (!Number.isInteger(refs) || refs < 2 || refs > MAX_REFS)
    throw new UsageError(`invalid number of references: ${refs}`);
  if (many > copies) return;
  throw new UsageError(
    `the number of copies of what is needed often (${many}) must be above that of all data (${copies})`,
  );
}
