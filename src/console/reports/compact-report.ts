import type { CompactResult } from '../../core/removing/compact.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import type { Output } from '../output/output.ts';
import { formatTable } from '../output/tables.ts';
import { countNoun, formatCount } from '../output/words.ts';

/** Reports the space that `compact` returned to the file system. */
export function reportCompact(output: Output, result: CompactResult): void {
  output.message('summary', compactFields(result));
  const { chunksRemoved, packsBefore, packsAfter, bytesBefore, bytesAfter } = result;
  if (result.dryRun) {
    output.remark(
      formatTable([
        ['reclaims', `about ${formatBytes(result.reclaimedBytes)}${describeRemaining(result)}`],
        ['chunks', `${formatCount(chunksRemoved)} to be removed`],
        ['packs', `${formatCount(packsBefore)}: ${describePacks(result)}`],
        ...copiesRows(result),
        ...resealRows(result),
      ]),
    );
    output.remark('dry run: nothing was changed');
    return;
  }
  output.remark(
    formatTable([
      ['reclaimed', describeReclaimed(result)],
      ['chunks', `${formatCount(chunksRemoved)} removed`],
      ['packs', `${formatCount(packsBefore)} before, ${formatCount(packsAfter)} after: ${describePacks(result)}`],
      ['repository', `${formatBytes(bytesBefore)} before, ${formatBytes(bytesAfter)} after`],
      ...copiesRows(result),
      ...resealRows(result),
    ]),
  );
}

/** What was done about copies in groups. */
function copiesRows({ copies, dryRun }: CompactResult): string[][] {
  if (copies === undefined) return [];
  const { packsCopied, bytesCopied, shortIds, surplusCopies, surplusBytes, unmoved } = copies;
  const rows: string[][] = [];
  if (packsCopied > 0)
    rows.push([
      'copies',
      `${countNoun(packsCopied, 'pack')} ${dryRun ? 'to be ' : ''}copied to more groups (${formatBytes(bytesCopied)})`,
    ]);
  if (surplusCopies > 0)
    rows.push([
      'left over',
      `${countNoun(surplusCopies, 'copy')} ${dryRun ? 'to be ' : ''}removed (${formatBytes(surplusBytes)})`,
    ]);
  if (shortIds.length > 0)
    rows.push(['too few copies', `${countNoun(shortIds.length, 'pack')}: too few groups can take them`]);
  if (unmoved.length > 0)
    rows.push(['damaged', `copies of ${countNoun(unmoved.length, 'pack')}: left as they are; run \`ldm repair\``]);
  return rows;
}

/** What `--reseal` did, or would do. */
function resealRows({ reseal, dryRun }: CompactResult): string[][] {
  if (reseal === undefined) return [];
  if (!reseal.hasEarlierKeys) return [['resealed', 'nothing: there is no earlier master key']];
  const packs = `${countNoun(reseal.packs, 'pack')} (${formatBytes(reseal.packBytes)})${dryRun ? ' to be rewritten' : ''}`;
  if (reseal.snapshotsLeft === 0) return [['resealed', packs]];
  return [
    ['resealed', packs],
    ['not resealed', `${countNoun(reseal.snapshotsLeft, 'snapshot')}: under an earlier key until deleted`],
  ];
}

/** Describes how much space was returned to the file system, and how much was not. */
export function describeReclaimed(result: CompactResult): string {
  // The new checkpoint may be larger than the reclaimed space.
  const bytes = formatBytes(Math.max(0, result.reclaimedBytes));
  if (result.keepsRemoved && result.reclaimedBytes > 0)
    return `${bytes}, which the bucket keeps as old versions${describeRemaining(result)}`;
  return `${bytes} returned to the file system${describeRemaining(result)}`;
}

function describeRemaining({ deadBytesRemaining, staying }: CompactResult): string {
  const dead = deadBytesRemaining > 0 ? `; ${formatBytes(deadBytesRemaining)} of dead space remain` : '';
  return staying === undefined ? dead : `${dead}; ${formatBytes(staying.packBytes)} in unindexed packs stay`;
}

export function describePacks({ packsRemoved, packsRewritten, bytesCopied, dryRun }: CompactResult): string {
  const copied = bytesCopied > 0 ? ` (${formatBytes(bytesCopied)} copied)` : '';
  const verb = dryRun ? 'to be ' : '';
  return `${formatCount(packsRemoved)} ${verb}removed, ${formatCount(packsRewritten)} ${verb}rewritten${copied}`;
}

export function compactFields(result: CompactResult): Record<string, unknown> {
  return {
    dry_run: result.dryRun,
    packs_before: result.packsBefore,
    packs_after: result.packsAfter,
    packs_removed: result.packsRemoved,
    packs_rewritten: result.packsRewritten,
    chunks_removed: result.chunksRemoved,
    bytes_copied: result.bytesCopied,
    bytes_before: result.bytesBefore,
    bytes_after: result.bytesAfter,
    reclaimed_bytes: result.reclaimedBytes,
    ...(result.keepsRemoved ? { keeps_removed: true } : {}),
    dead_bytes_remaining: result.deadBytesRemaining,
    unindexed: unindexedFields(result),
    copies: copiesFields(result),
    reseal:
      result.reseal === undefined
        ? undefined
        : {
            has_earlier_keys: result.reseal.hasEarlierKeys,
            packs: result.reseal.packs,
            pack_bytes: result.reseal.packBytes,
            snapshots_left: result.reseal.snapshotsLeft,
          },
  };
}

function unindexedFields({ staying }: CompactResult): Record<string, unknown> | undefined {
  if (staying === undefined) return undefined;
  return { packs: staying.packIds.size, bytes: staying.packBytes, until: staying.until };
}

function copiesFields({ copies }: CompactResult): Record<string, unknown> | undefined {
  if (copies === undefined) return undefined;
  const { packsCopied, bytesCopied, shortIds, surplusCopies, surplusBytes, unmoved } = copies;
  return {
    packs_copied: packsCopied,
    bytes_copied: bytesCopied,
    packs_short: shortIds.length,
    surplus_copies_removed: surplusCopies,
    surplus_bytes: surplusBytes,
    packs_unmoved: unmoved.length,
  };
}
