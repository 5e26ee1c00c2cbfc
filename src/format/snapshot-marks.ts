import { FILE_ID_BYTES } from './constants.ts';
import { hexPattern, isUtcTime } from './json-reader.ts';
import type { JsonReader } from './json-reader.ts';

/** What a manifest says about its snapshot beside the backup itself. All of it is optional. */
export interface SnapshotMarks {
  /** A note for people. */
  readonly comment?: string;
  /** Whether the snapshot must not be deleted. */
  readonly pinned?: true;
  /** Until this time (RFC 3339, UTC) the snapshot must not be deleted. */
  readonly keepUntil?: string;
  /** The offset of local time from UTC in minutes, where and when the backup was made; east is positive. */
  readonly utcOffsetMinutes?: number;
  /** The patterns of what the backup left out. */
  readonly excludes?: readonly string[];
  /** Those that match regardless of upper and lower case. */
  readonly iexcludes?: readonly string[];
  /** Hex id of the snapshot whose place this one has taken. */
  readonly replaces?: string;
  /** The snapshot is deleted, and what only it needs must be kept until this time (RFC 3339, UTC). */
  readonly deletedUntil?: string;
}

export const MARK_MEMBERS: readonly string[] = [
  'comment',
  'pinned',
  'keep_until',
  'utc_offset_minutes',
  'excludes',
  'iexcludes',
  'replaces',
  'deleted_until',
];
const SNAPSHOT_ID = hexPattern(FILE_ID_BYTES);
/** More than any zone has used. */
const OFFSET_MAX = 24 * 60;

export function encodeMarks(marks: SnapshotMarks): Readonly<Record<string, unknown>> {
  const { comment, pinned, keepUntil, utcOffsetMinutes, excludes, iexcludes, replaces, deletedUntil } = marks;
  const members = {
    comment,
    pinned,
    keep_until: keepUntil,
    utc_offset_minutes: utcOffsetMinutes,
    excludes,
    iexcludes,
    replaces,
    deleted_until: deletedUntil,
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

export function readMarks(reader: JsonReader): SnapshotMarks {
  return {
    ...(reader.has('comment') ? { comment: reader.string('comment') } : {}),
    ...(reader.has('pinned') && reader.boolean('pinned') ? { pinned: true as const } : {}),
    ...(reader.has('keep_until') ? { keepUntil: reader.string('keep_until', isUtcTime) } : {}),
    ...(reader.has('utc_offset_minutes')
      ? { utcOffsetMinutes: reader.integer('utc_offset_minutes', -OFFSET_MAX, OFFSET_MAX) }
      : {}),
    ...(reader.has('excludes') ? { excludes: reader.strings('excludes') } : {}),
    ...(reader.has('iexcludes') ? { iexcludes: reader.strings('iexcludes') } : {}),
    ...(reader.has('replaces') ? { replaces: reader.string('replaces', SNAPSHOT_ID) } : {}),
    ...(reader.has('deleted_until') ? { deletedUntil: reader.string('deleted_until', isUtcTime) } : {}),
  };
}
