import type { ChangeResult } from './tag.ts';
import type { Output } from '../../console/output/output.ts';
import { countNoun, shortId } from '../../console/output/words.ts';
import { describeMarks } from '../../console/reports/snapshots-report.ts';

/** Reports `tag`, `pin` and `unpin`: the old and the new id of each changed snapshot, as restic does. */
export function reportChanges(output: Output, { changed, unchangedCount }: ChangeResult): void {
  output.complete(`Changed: ${changed.map((each) => shortId(each.old.id)).join(', ')}.`);
  for (const { old, new: now } of changed) {
    output.message('changed', { old_snapshot_id: old.id, new_snapshot_id: now.id });
    const marks = describeMarks(now.snapshot);
    output.remark(
      `changed ${shortId(old.id)}, now ${shortId(now.id)}: ${marks === '' ? 'no tags, not pinned' : marks}`,
    );
  }
  output.message('summary', { changed_snapshots: changed.length, unchanged_snapshots: unchangedCount });
  if (changed.length === 0) output.remark(`nothing to change in ${countNoun(unchangedCount, 'snapshot')}`);
}
