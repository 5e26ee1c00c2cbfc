import { EXIT_DAMAGED, EXIT_SUCCESS } from '../../console/exit-codes.ts';
import type { GroupLoss } from './group-lost.ts';
import type { GroupMoves } from '../../core/copies/group-moves.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import type { Output } from '../../console/output/output.ts';
import { displayPath } from '../../console/output/display-path.ts';
import { pathFields } from '../../console/output/byte-fields.ts';
import { countNoun, formatCount, shortId } from '../../console/output/words.ts';

/** Reports `group drain` and `group rebalance`. */
export function reportMoves(output: Output, moves: GroupMoves): void {
  const { packsMoved, bytesMoved, packsCopied, bytesCopied, shortIds } = moves;
  const { surplusCopies, surplusBytes, unmoved, dryRun } = moves;
  for (const { packId: pack, groups } of unmoved) {
    const where = `the copy of the pack ${shortId(pack)} in ${groups.join(', ')}`;
    output.problem(`${where} is damaged, so no copy of the pack was removed; run \`ldm repair\``, 'unmoved', {
      pack,
      groups,
    });
  }
  output.message('summary', {
    dry_run: dryRun,
    packs_moved: packsMoved,
    bytes_moved: bytesMoved,
    packs_copied: packsCopied,
    bytes_copied: bytesCopied,
    packs_short: shortIds.length,
    surplus_copies_removed: surplusCopies,
    surplus_bytes: surplusBytes,
    packs_unmoved: unmoved.length,
  });
  const verb = dryRun ? 'would be ' : '';
  output.remark(`${verb}moved: ${countNoun(packsMoved, 'pack')} (${formatBytes(bytesMoved)})`);
  if (packsCopied > 0) {
    output.remark(`${verb}copied: ${countNoun(packsCopied, 'pack')} to more groups (${formatBytes(bytesCopied)})`);
  }
  if (surplusCopies > 0) {
    const copies = countNoun(surplusCopies, 'copy');
    output.remark(`${verb}removed: ${copies} that were left over (${formatBytes(surplusBytes)})`);
  }
  if (shortIds.length > 0) {
    output.remark(`${countNoun(shortIds.length, 'pack')} in fewer groups than wanted: too few groups can take them`);
  }
  if (dryRun) output.remark('dry run: nothing was changed');
}

/** Reports `group lost`: each file that is lost, and what to do. */
export function reportLoss(output: Output, loss: GroupLoss): void {
  const { name, packsLost, bytesLost, paths, snapshots, snapshotsAffected, isRemoved } = loss;
  for (const { snapshot, path } of paths) {
    output.message('lost', { snapshot, ...pathFields(path) });
    output.line(`${shortId(snapshot)}${path === '' ? ': everything' : `:${displayPath(path)}`}`);
  }
  output.message('summary', {
    change: isRemoved ? 'removed' : undefined,
    packs_lost: packsLost,
    bytes_lost: bytesLost,
    files_lost: paths.length,
    read_data: loss.readData,
    snapshots_affected: snapshotsAffected,
    snapshots,
  });
  const verb = isRemoved ? 'are lost' : 'cannot be restored without it';
  output.remark(
    `${name} had ${countNoun(packsLost, 'pack')} (${formatBytes(bytesLost)}) that no other group has; ${countNoun(paths.length, 'file')} in ${formatCount(snapshotsAffected)} of ${countNoun(snapshots, 'snapshot')} ${verb}`,
  );
  if (!loss.readData) output.remark('what is left was not read: --read-data also finds damage in it');
  if (isRemoved) {
    const next =
      packsLost + paths.length === 0
        ? 'If you keep copies, run `ldm group rebalance`, which makes those that it had in other groups'
        : 'Run `ldm repair`; then a backup stores again what is still among its sources';
    output.remark(`removed group ${name}. ${next}`);
  } else output.remark(`nothing was changed; \`ldm group lost ${name} --yes\` gives the group up`);
}

/** If the group was removed for good, the command has done what it was told to. */
export function exitCodeOfLoss({ paths, isRemoved }: Pick<GroupLoss, 'paths' | 'isRemoved'>): number {
  return paths.length > 0 && !isRemoved ? EXIT_DAMAGED : EXIT_SUCCESS;
}
