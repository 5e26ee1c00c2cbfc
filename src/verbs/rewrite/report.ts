import type { RewriteResult, RewrittenSnapshot } from './rewrite.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { countNoun, shortId } from '../../console/output/words.ts';
import { figuresOf } from '../../console/reports/delete-report.ts';
import { formatTable } from '../../console/output/tables.ts';

/** Reports `rewrite`: the old and the new id of each snapshot, what it loses, and what deleting the old ones frees. */
export function reportRewrite(output: Output, result: RewriteResult): void {
  const { rewritten, freed, dryRun, forgotten } = result;
  if (!dryRun && rewritten.length > 0) {
    output.complete(`Rewritten: ${rewritten.map(({ old }) => shortId(old.id)).join(', ')}.`);
  }
  for (const each of rewritten) {
    output.message('changed', {
      old_snapshot_id: each.old.id,
      new_snapshot_id: each.newId,
      excluded_files: each.leftOut.fileCount,
      excluded_bytes: each.leftOut.sizeBytes,
    });
    output.remark(describe(each));
  }
  output.message('summary', {
    dry_run: dryRun,
    changed_snapshots: rewritten.length,
    unchanged_snapshots: result.unchangedCount,
    excludes_unmatched: result.excludesUnmatched,
    includes_unmatched: result.includesUnmatched,
    forgotten,
    freed_chunks: freed.chunkCount,
    freed_trees: freed.treeCount,
    freed_bytes: freed.rawBytes,
    freed_stored_bytes: freed.storedBytes,
  });
  if (rewritten.length > 0) {
    const label = forgotten && !dryRun ? 'freed' : 'would free';
    output.remark(formatTable(figuresOf({ freed, compaction: undefined }, label)));
    output.remark(describeNext(forgotten));
  } else output.remark(`nothing to change in ${countNoun(result.unchangedCount, 'snapshot')}`);
  for (const pattern of [...result.excludesUnmatched, ...result.includesUnmatched]) {
    output.remark(`the pattern ${escapeForTerminal(pattern)} matched nothing`);
  }
  if (dryRun) output.remark('dry run: nothing was changed');
}

function describe({ old, newId, leftOut }: RewrittenSnapshot): string {
  const now =
    newId === undefined ? `would rewrite ${shortId(old.id)}` : `rewrote ${shortId(old.id)} as ${shortId(newId)}`;
  return `${now}, without ${countNoun(leftOut.fileCount, 'file')} of ${formatBytes(leftOut.sizeBytes)}`;
}

function describeNext(forgotten: boolean): string {
  return forgotten
    ? 'the old snapshots are deleted; `ldm compact` returns the space'
    : 'the space is freed when the old snapshots are deleted: --forget does both';
}
