import { describeProtection } from '../../core/removing/protection.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { ForgetResult, ForgottenGroup, KeptInGroup, RemovedFromGroup } from './forget.ts';
import type { SizeLimit } from './size-limit.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { formatTime, headOfTimes } from '../../core/util/format-time.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { countNoun, shortId } from '../../console/output/words.ts';
import { commonFields, describeCommon } from '../../console/reports/group-fields.ts';
import { describeNotReclaimed, figuresOf, freedFields } from '../../console/reports/delete-report.ts';
import { costFields, snapshotFields } from '../../console/reports/snapshot-fields.ts';

/** Reports `forget`: each group with what stays and why, and the bytes that go. */
export function reportForget(output: Output, result: ForgetResult): void {
  const removed = result.groups.flatMap((group) => group.removed);
  if (!result.dryRun && removed.length > 0) {
    output.complete(`Deleted: ${removed.map(({ listing }) => shortId(listing.id)).join(', ')}.`);
  }
  for (const group of result.groups) {
    output.message('forget', groupFields(group));
    output.remark(`${describeGroup(group)}\n${formatGroup(group)}\n`);
  }
  const kept = result.groups.flatMap((group) => group.kept);
  output.message('summary', {
    kept_snapshots: kept.length,
    removed_snapshots: removed.length,
    size_limit: result.size?.limitBytes,
    size_before: result.size?.beforeBytes,
    size_expected: result.size?.expectedBytes,
    ...freedFields(
      result,
      removed.map(({ listing }) => listing),
    ),
  });
  const verb = result.dryRun ? 'would delete' : 'deleted';
  output.remark(`${verb} ${countNoun(removed.length, 'snapshot')}, ${kept.length} kept`);
  if (removed.length > 0) output.remark(formatTable(figuresOf(result)));
  if (result.size !== undefined) output.remark(describeSize(result.size));
  if (result.dryRun) output.remark('dry run: nothing was deleted');
  const notReclaimed = describeNotReclaimed(result);
  if (notReclaimed !== undefined) output.remark(`not reclaimed: ${escapeForTerminal(notReclaimed)}`);
}

function describeGroup({ kept, removed, ...group }: ForgottenGroup): string {
  return `${describeCommon(group)}: keep ${kept.length}, delete ${removed.length}`;
}

function formatGroup({ kept, removed }: ForgottenGroup): string {
  const lines = [
    ...kept.map((each) => ({ ...each, action: 'keep', why: reasonsOf(each).join(', ') })),
    ...removed.map((each) => ({ ...each, action: 'delete', why: describeRemoval(each) })),
  ].sort((a, b) => (a.listing.snapshot.time < b.listing.snapshot.time ? -1 : 1));
  const rows = lines.map(({ action, listing: { id, snapshot }, onlyHere, why }) => [
    action,
    shortId(id),
    formatTime(snapshot.time),
    snapshot.tags.map(escapeForTerminal).join(','),
    formatBytes(onlyHere.storedBytes),
    why,
  ]);
  const timeHead = headOfTimes(
    'Time',
    lines.map(({ listing }) => listing.snapshot.time),
  );
  return formatTable(rows, {
    head: ['', 'ID', timeHead, 'Tags', 'Only here', 'Reasons'],
    rightAligned: [4],
    shortened: [
      { column: 5, keeps: 'start' },
      { column: 3, keeps: 'start' },
    ],
  });
}

function reasonsOf({ reasons, protection }: KeptInGroup): string[] {
  if (protection === undefined) return reasons.map(escapeForTerminal);
  return [describeProtection(protection), ...reasons.map(escapeForTerminal)];
}

function sizeReasonFields({ size }: RemovedFromGroup): Record<string, unknown> {
  return { size_freed_bytes: size?.freedBytes, size_snapshots: size?.snapshotCount };
}

function describeRemoval({ size }: RemovedFromGroup): string {
  if (size === undefined) return '';
  const together = size.snapshotCount === 1 ? '' : ` together with ${size.snapshotCount - 1} more`;
  return `size: frees ${formatBytes(size.freedBytes)}${together}`;
}

function describeSize({ limitBytes, beforeBytes, expectedBytes }: SizeLimit): string {
  const [limit, before, expected] = [limitBytes, beforeBytes, expectedBytes].map(formatBytes);
  return `repository of ${before}, ${expected} without what goes; the limit is ${limit}`;
}

/** The names are those of restic's array of groups. What is not common to a group is null there. */
function groupFields({ host, paths, tags, kept, removed }: ForgottenGroup): Record<string, unknown> {
  const fields = ({ listing, onlyHere }: KeptInGroup | RemovedFromGroup): Record<string, unknown> => ({
    ...snapshotFields(listing),
    ...costFields({ ...listing, onlyHere }),
  });
  return {
    ...commonFields({ host, paths, tags }),
    keep: kept.map(fields),
    remove: removed.map((each) => ({ ...fields(each), ...sizeReasonFields(each) })),
    reasons: kept.map((each) => ({ snapshot: snapshotFields(each.listing), matches: reasonsOf(each) })),
  };
}
