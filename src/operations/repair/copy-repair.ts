import { packName } from '../../format/layout.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import { groupOf } from '../check/copy-problems.ts';
import type { OperationContext } from '../context.ts';
import type { PackJudge } from './pack-judge.ts';
import type { RepairPlan } from './repair-plan.ts';

/**
 * Sets damaged copies aside that another copy makes up for, and then copies what is in too few groups. So a damaged copy
 * is still there if the sound one fails meanwhile.
 */
export async function repairCopies(
  plan: RepairPlan,
  context: OperationContext,
  found: { readonly repository: Repository; readonly opened: OpenedState; readonly judge: PackJudge },
): Promise<void> {
  const { repository, opened, judge } = found;
  if (repository.groups === undefined) return;
  for (const [packId, copyIds] of judge.damagedCopies) {
    for (const copyId of copyIds) {
      plan.add({ kind: 'copy-quarantined', packId, group: groupOf(repository, copyId) }, async () =>
        repository.order.quarantine(packName(copyId), repository.assertLocked),
      );
    }
  }
  const [{ findShortPacks }, { makeMissingCopies }] = await Promise.all([
    import('../groups/short-packs.ts'),
    import('../group-moves.ts'),
  ]);
  const { packs, wanted } = await findShortPacks(repository, opened);
  const ids = new Set([
    ...packs.filter(({ id }) => !judge.isBad(id)).map(({ id }) => id),
    ...judge.damagedCopies.keys(),
  ]);
  if (ids.size === 0) return;
  plan.add({ kind: 'copies-made', packCount: ids.size }, async () =>
    makeMissingCopies(context, repository, { ids, wanted }),
  );
}
