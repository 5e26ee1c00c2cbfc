import { copyAddress, baseName, packName } from '../../core/format/layout.ts';
import type { GroupPack } from '../../core/repository/groups/group-packs.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { Caller } from '../../core/session/caller.ts';
import type { Finding } from '../../core/session/findings.ts';
import { groupNameOf } from '../../core/copies/opened-groups.ts';
import type { PackJudge } from './pack-judge.ts';
import type { RepairPlan } from './repair-plan.ts';

/**
 * Copies what is in too few groups, also in the place of copies that are damaged and have a sound one, and then sets
 * those aside. So what is set aside is never the copy of the highest rank (see `DurableMoves`), unless no group takes
 * another one. Returns what will remain.
 */
export async function repairCopies(
  plan: RepairPlan,
  caller: Caller,
  found: { readonly repository: Repository; readonly opened: OpenedState; readonly judge: PackJudge },
): Promise<Finding[]> {
  const { repository, opened, judge } = found;
  const { groups } = repository;
  if (groups === undefined) return [];
  const [{ copiesWanted }, { settlePacks }, { listGroupPacks }, { homesOf }] = await Promise.all([
    import('../../core/copies/wanted-copies.ts'),
    import('../../core/copies/group-moves.ts'),
    import('../../core/repository/groups/group-packs.ts'),
    import('../../core/repository/groups/copy-decision.ts'),
  ]);
  const listed = (await listGroupPacks(groups.all)).filter(({ id }) => !judge.isBad(id));
  const wanted = await copiesWanted(groups.rules, listed, async () => opened);
  const packs = listed
    .map((pack) => withoutDamaged(pack, judge))
    .filter(({ id, copies, damaged }) => damaged !== undefined || homesOf(copies).size < wanted(id));
  const predicted = await settlePacks(caller, repository, { packs, wanted, dryRun: true });
  const { packsChanged: packCount, bytesCopied, bytesMoved } = predicted;
  if (packCount > 0) {
    plan.add({ kind: 'copies-made', packCount, roomBytes: bytesCopied + bytesMoved }, async () =>
      settlePacks(caller, repository, { packs, wanted, dryRun: false }),
    );
  }
  for (const [packId, copyIds] of judge.damagedCopies) {
    for (const copyId of copyIds) {
      plan.add({ kind: 'copy-quarantined', packId, group: groupNameOf(groups, copyId) }, async () =>
        repository.order.quarantine(packName(copyId), repository.assertLocked),
      );
    }
  }
  const [exampleId] = predicted.shortIds;
  if (exampleId === undefined) return [];
  return [{ severity: 'warning', kind: 'copies-missing', packCount: predicted.shortIds.length, exampleId }];
}

function withoutDamaged(pack: GroupPack, judge: PackJudge): GroupPack {
  const copyIds = judge.damagedCopies.get(pack.id);
  if (copyIds === undefined) return pack;
  const isDamaged = ({ home, name }: GroupPack['copies'][number]): boolean =>
    copyIds.includes(baseName(copyAddress(name, home.id)));
  return { ...pack, copies: pack.copies.filter((copy) => !isDamaged(copy)), damaged: pack.copies.filter(isDamaged) };
}

/** Writes damaged copies of what is small again, of what the repository has. */
export async function repairMetadata(plan: RepairPlan, { groups, assertLocked }: Repository): Promise<void> {
  if (groups === undefined || groups.rules.copies === 1) return;
  const damaged = await groups.damagedMetadata(() => true);
  for (const group of new Set(damaged.map((each) => each.group))) {
    const inGroup = damaged.filter((each) => each.group === group);
    plan.add({ kind: 'metadata-rewritten', fileCount: inGroup.length, group: group.entry.name }, async () =>
      groups.copyMetadata?.(assertLocked, undefined, inGroup),
    );
  }
}
