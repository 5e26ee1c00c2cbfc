import type { FindResult, FindVisitor, FoundEntry } from './find.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { displayPath } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { OutputClosedError } from '../../console/output/output.ts';
import { zonesOf } from '../../core/util/format-time.ts';
import { countNoun, formatTime, shortId } from '../../console/output/words.ts';
import { formatLongLine, nodeFields } from '../../console/reports/ls-report.ts';

/**
 * Reports `find`: a line for each entry, with the snapshot. With `--json`, an object for each snapshot, which has the
 * fields of an element of restic's array.
 */
export class FindReport implements FindVisitor {
  readonly #output: Output;
  readonly #long: boolean;
  #prefix = '';
  #hits = 0;
  #snapshotId = '';
  #matches: Record<string, unknown>[] = [];
  /** One of the printed times for each distance to UTC: there may be millions of times. */
  readonly #times = new Map<number, string>();

  constructor(output: Output, long: boolean) {
    this.#output = output;
    this.#long = long;
  }

  readonly begin = ({ id, snapshot }: SnapshotListing, hits: number): void => {
    this.#noteTime(new Date(snapshot.time));
    this.#prefix = `${shortId(id)}  ${formatTime(snapshot.time)}  `;
    this.#snapshotId = id;
    this.#hits = hits;
    this.#matches = [];
  };

  readonly visit = ({ path, entry }: FoundEntry): void => {
    if (this.#output.failure !== undefined) throw new OutputClosedError();
    if (!this.#output.json) {
      if (this.#long) this.#noteTime(new Date(entry.mtimeSeconds * 1000));
      this.#output.line(this.#prefix + (this.#long ? formatLongLine(path, entry) : displayPath(path)));
      return;
    }
    this.#matches.push(nodeFields(path, entry));
    if (this.#matches.length < this.#hits) return;
    this.#output.message('matches', { hits: this.#hits, snapshot: this.#snapshotId, matches: this.#matches });
    this.#matches = [];
  };

  finish({ snapshotCount, hits, treesRead, unreadableTrees }: FindResult): void {
    this.#output.message('summary', {
      snapshots: snapshotCount,
      hits,
      trees_read: treesRead,
      unreadable_trees: unreadableTrees,
    });
    const entries = hits === 1 ? '1 entry' : countNoun(hits, 'entry');
    const advice =
      hits > 0 || snapshotCount === 0
        ? ''
        : '; a pattern must match a whole name: *notes* matches all names that contain notes';
    const zone = hits === 0 ? '' : `; times are in ${zonesOf([...this.#times.values()])}`;
    this.#output.remark(`found ${entries}; searched ${countNoun(snapshotCount, 'snapshot')}${advice}${zone}`);
  }

  /** One beyond the range of dates is printed in seconds, without a zone. */
  #noteTime(time: Date): void {
    if (!Number.isNaN(time.getTime())) this.#times.set(time.getTimezoneOffset(), time.toISOString());
  }
}
