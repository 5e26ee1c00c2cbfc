import type { CompactResult } from '../../operations/compact.ts';
import { formatBytes } from '../../util/format-bytes.ts';
import type { Output } from '../output.ts';
import { formatTable } from '../tables.ts';
import { formatCount } from '../words.ts';

/** Reports the space that `compact` returned to the file system. */
export function reportCompact(output: Output, result: CompactResult): void {
  output.message('summary', compactFields(result));
  const { chunksRemoved, packsBefore, packsAfter, bytesBefore, bytesAfter } = result;
  if (result.dryRun) {
    output.remark(
      formatTable([
        ['reclaims', `about ${formatBytes(result.reclaimedBytes)}`],
        ['chunks', `${formatCount(chunksRemoved)} to be removed`],
        ['packs', `${formatCount(packsBefore)}: ${describePacks(result)}`],
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
    ]),
  );
}

/** Describes how much space was returned to the file system, and how much was not. */
export function describeReclaimed({ reclaimedBytes, deadBytesRemaining }: CompactResult): string {
  const remaining = deadBytesRemaining > 0 ? `; ${formatBytes(deadBytesRemaining)} of dead space remain` : '';
  // The new checkpoint may be larger than the reclaimed space.
  return `${formatBytes(Math.max(0, reclaimedBytes))} returned to the file system${remaining}`;
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
    dead_bytes_remaining: result.deadBytesRemaining,
  };
}
