import type { CompactResult } from '../../operations/compact.ts';
import { formatBytes } from '../../util/format-bytes.ts';
import type { Output } from '../output.ts';
import { formatTable } from '../tables.ts';
import { countNoun, formatCount } from '../words.ts';

/** `compact`: what the file system got back. */
export function reportCompact(output: Output, result: CompactResult): void {
  output.message('summary', compactFields(result));
  const would = result.dryRun ? 'would be ' : '';
  output.remark(
    formatTable([
      ['reclaimed', `${formatBytes(result.reclaimedBytes)}${result.dryRun ? ' (dry run: nothing was changed)' : ''}`],
      ['chunks', `${formatCount(result.chunksRemoved)} ${would}removed`],
      [
        'packs',
        `${formatCount(result.packsBefore)} before, ${formatCount(result.packsAfter)} after: ${formatCount(result.packsRemoved)} ${would}removed, ${formatCount(result.packsRewritten)} ${would}rewritten (${formatBytes(result.bytesCopied)})`,
      ],
      ['repository', `${formatBytes(result.bytesBefore)} before, ${formatBytes(result.bytesAfter)} after`],
      ['dead bytes left', formatBytes(result.deadBytesRemaining)],
    ]),
  );
}

/** One line about a compaction that was part of another command. */
export function describeReclaimed(result: CompactResult): string {
  const left =
    result.deadBytesRemaining > 0
      ? `; ${formatBytes(result.deadBytesRemaining)} dead bytes stay until it is worth copying around them`
      : '';
  return `the file system got ${formatBytes(result.reclaimedBytes)} back (${countNoun(result.packsRemoved, 'pack')} removed, ${formatCount(result.packsRewritten)} rewritten)${left}`;
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
