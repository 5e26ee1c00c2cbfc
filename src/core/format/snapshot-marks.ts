import { FILE_ID_BYTES } from './constants.ts';
import { hexPattern, isUtcTime } from './json-reader.ts';
import type { JsonReader } from './json-reader.ts';

/** Another domain of the realm, as it was called when the snapshot was made. */
export interface NamedDomain {
  /** The repository id: 64 hex digits. */
  readonly domainId: string;
  readonly name: string;
}

/** The domain that a snapshot keeps chunks for. */
export interface Hold extends NamedDomain {
  /** 64 hex digits: the SHA-256 of a secret of 32 bytes, or random (`isOpen`). */
  readonly holdId: string;
  /** Whether the id of the hold suffices to end it, as in earlier builds. Otherwise that takes its secret. */
  readonly isOpen: boolean;
}

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
  /** The snapshot keeps chunks that another domain has borrowed, and is no backup. */
  readonly hold?: Hold;
  /** The domains that keep chunks of the snapshot. */
  readonly reliesOn?: readonly NamedDomain[];
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
  'hold',
  'relies_on',
];
const SNAPSHOT_ID = hexPattern(FILE_ID_BYTES);
/** More than any zone has used. */
const OFFSET_MAX = 24 * 60;

export function encodeMarks(marks: SnapshotMarks): Readonly<Record<string, unknown>> {
  const { comment, pinned, keepUntil, utcOffsetMinutes, excludes, iexcludes, replaces, deletedUntil } = marks;
  const { hold, reliesOn } = marks;
  const members = {
    comment,
    pinned,
    keep_until: keepUntil,
    utc_offset_minutes: utcOffsetMinutes,
    excludes,
    iexcludes,
    replaces,
    deleted_until: deletedUntil,
    hold: hold && { ...encodeDomain(hold), hold_id: hold.holdId, ...(hold.isOpen ? {} : { by_secret: true }) },
    relies_on: reliesOn?.map(encodeDomain),
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
    ...(reader.has('hold') ? { hold: readHold(reader.object('hold')) } : {}),
    ...(reader.has('relies_on') ? { reliesOn: reader.objects('relies_on').map(readDomain) } : {}),
  };
}

function encodeDomain({ domainId, name }: NamedDomain): Readonly<Record<string, string>> {
  return { domain_id: domainId, name };
}

function readDomain(reader: JsonReader): NamedDomain {
  return { domainId: reader.string('domain_id', SNAPSHOT_ID), name: reader.string('name') };
}

function readHold(reader: JsonReader): Hold {
  const isOpen = !(reader.has('by_secret') && reader.boolean('by_secret'));
  return { ...readDomain(reader), holdId: reader.string('hold_id', SNAPSHOT_ID), isOpen };
}
