import type { CopyProblem } from '../../core/session/notices.ts';
import type { Notice } from '../../core/session/notices.ts';
import { describeListing } from '../../core/snapshots/select-snapshots.ts';
import { enumerate } from '../../core/snapshots/unmatched-filter.ts';
import { hintOf } from '../advice.ts';
import { displayPath } from '../output/display-path.ts';
import { countNoun, shortId } from '../output/words.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { describeRealmNotice, isRealmNotice } from './realm-notice-text.ts';
import { describeOlderState, describeStayingPacks } from './older-state-text.ts';

/** A problem is an error that costs a source file, or a snapshot of a copy. `note` is weaker than `warning`: nothing is wrong. Scripts read these words. */
export type NoticeLevel = 'lock-wait' | 'source-problem' | 'copy-problem' | 'warning' | 'note';

const NOTES: ReadonlySet<Notice['kind']> = new Set([
  'latest-among-groups',
  'nothing-matches',
  'wrong-password',
] as const);

export function levelOf({ kind }: Notice): NoticeLevel {
  if (kind === 'lock-wait' || kind === 'source-problem' || kind === 'copy-problem') return kind;
  return NOTES.has(kind) ? 'note' : 'warning';
}

export function describeNotice(notice: Notice): string {
  const text = describe(notice);
  return notice.place === undefined ? text : `${notice.place}: ${text}`;
}

function describe(notice: Notice): string {
  if (isRealmNotice(notice)) return describeRealmNotice(notice);
  switch (notice.kind) {
    case 'lock-wait':
      return `waiting for the lock held by ${notice.holder}`;
    case 'read-without-lock':
      return `the repository is read without a lock, because ${notice.reason}; do not run compact or delete at the same time`;
    case 'lock-not-released':
      return `the lock could not be released: ${notice.reason}`;
    case 'group-offline':
      return `the group ${notice.name} at ${notice.at} is offline: ${notice.reason}`;
    case 'fewer-copies':
      return `${countNoun(notice.packCount, 'new pack')} could not be written to as many groups as wanted; run \`ldm group rebalance\` when they can be reached and have room`;
    case 'group-not-written':
      return `nothing more was written to the group ${notice.name}: ${notice.reason}`;
    case 'candidate-left-out':
      return `left out: ${notice.reason}`;
    case 'relies-on-offline':
      return `the snapshot needs data in ${countNoun(notice.packCount, 'pack')} (${formatBytes(notice.packBytes)}) that cannot be reached: it is only in groups that are offline`;
    case 'checkpoint-damaged':
    case 'checkpoint-not-written':
    case 'manifest-copy-not-written':
    case 'verified-record-damaged':
    case 'verification-not-recorded':
      return describeDerived(notice);
    case 'key-unusable':
      return `the key ${notice.keyId.slice(0, 8)} cannot be used (${notice.reason}); its password opens nothing, the others do`;
    case 'wrong-password':
      return 'wrong password';
    case 'password-not-used':
      return 'the repository is not encrypted, so the password is not used; add --no-encryption if that is right';
    case 'older-state':
      return describeOlderState(notice);
    case 'manifest-damaged':
      return notice.reason;
    case 'tree-unreadable':
    case 'repository-damaged':
    case 'parent-damaged':
    case 'reused-wrong':
    case 'export-incomplete':
      return describeDamage(notice);
    case 'ignore-file-unreadable':
      return `${notice.reason}; what it lists is saved`;
    case 'snapshot-without-files':
      return 'the snapshot has no files: the sources are empty, or everything in them is excluded';
    case 'stream-empty':
      return 'standard input was empty, so the saved file is empty';
    case 'repository-left-out':
      return `left out ${displayPath(notice.path)}: it is this repository seen through another mount, or a copy of it`;
    case 'restore-problem':
    case 'times-in-milliseconds':
    case 'unknown-owners':
      return describeRestore(notice);
    case 'copy-problem':
      return describeCopyProblem(notice);
    case 'latest-among-groups':
    case 'dated-in-future':
    case 'dated-before-newest':
    case 'clocks-differ':
      return describeDates(notice);
    case 'disk-full':
    case 'unindexed-packs-stay':
      return describeLeft(notice);
    case 'mount-failure':
    case 'unmounted-while-used':
      return describeMount(notice);
    default:
      return notice.message;
  }
}

type RestoreNotice = Extract<Notice, { kind: 'restore-problem' | 'times-in-milliseconds' | 'unknown-owners' }>;

function describeRestore(notice: RestoreNotice): string {
  switch (notice.kind) {
    case 'restore-problem':
      return notice.code === 'EXISTS' ? `${notice.message} (see --overwrite)` : notice.message;
    case 'times-in-milliseconds':
      return 'modification times are restored to the millisecond only, because the package koffi cannot be loaded here';
    default:
      return describeUnknownOwners(notice);
  }
}

const NAMES_SHOWN_MAX = 10;

function describeUnknownOwners({ users, groups }: Extract<Notice, { kind: 'unknown-owners' }>): string {
  const shown = (what: string, names: readonly ByteString[]): string[] => {
    const rest = names.length > NAMES_SHOWN_MAX ? `, and ${names.length - NAMES_SHOWN_MAX} more` : '';
    const listed = names.slice(0, NAMES_SHOWN_MAX).map((name) => displayPath(name));
    return names.length === 0 ? [] : [`${countNoun(names.length, what)} (${listed.join(', ')}${rest})`];
  };
  const unknown = [...shown('owner', users), ...shown('group', groups)];
  return `unknown on this machine, so set by number: ${unknown.join(' and ')}`;
}

type DamageNotice = Extract<
  Notice,
  { kind: 'tree-unreadable' | 'repository-damaged' | 'parent-damaged' | 'reused-wrong' | 'export-incomplete' }
>;

function describeDamage(notice: DamageNotice): string {
  switch (notice.kind) {
    case 'tree-unreadable':
      return `${displayPath(notice.path)} in snapshot ${shortId(notice.snapshotId)} cannot be read: ${notice.reason}`;
    case 'repository-damaged':
      return `the repository is damaged: ${notice.unreadableCount === 1 ? 'a tree, segment or snapshot' : `${notice.unreadableCount} trees, segments or snapshots`} cannot be read, and this snapshot may depend on ${notice.unreadableCount === 1 ? 'it' : 'them'}; run \`ldm check\``;
    case 'parent-damaged':
      return 'the repository is damaged: some directories of the last snapshot cannot be read and are stored again; run `ldm repair`, then `ldm check --read-data`';
    case 'reused-wrong':
      return describeWrong(notice);
    default:
      return 'the repository is damaged: the export omits chunks that are missing or below unreadable trees';
  }
}

function describeWrong({ chunkCount, exampleId, isStored }: Extract<Notice, { kind: 'reused-wrong' }>): string {
  const found = `the repository is damaged: ${countNoun(chunkCount, 'chunk')} of earlier backups cannot be read, or not with the right content, such as ${exampleId}`;
  const stored = isStored
    ? '; this snapshot does not rely on them, because the files that need them are stored again'
    : '';
  return `${found}${stored}; run \`ldm check --read-data\`, then \`ldm repair\``;
}

type DateNotice = Extract<
  Notice,
  { kind: 'latest-among-groups' | 'dated-in-future' | 'dated-before-newest' | 'clocks-differ' }
>;

function describeDates(notice: DateNotice): string {
  if (notice.kind === 'latest-among-groups') {
    return `${notice.name} is ${describeListing(notice.snapshot)}; there are snapshots of ${notice.groupCount} different hosts or sets of paths`;
  }
  if (notice.kind === 'dated-in-future') return describeFuture(notice.snapshots.map(describeListing));
  if (notice.kind === 'clocks-differ') return describeClocks(notice.aheadMs);
  return `the new snapshot is dated before ${describeListing(notice.newest)} of the same host and paths, which remains the latest: see whether the clock is right`;
}

/** Packs that a compaction has left. */
function describeLeft(notice: Extract<Notice, { kind: 'disk-full' | 'unindexed-packs-stay' }>): string {
  if (notice.kind === 'unindexed-packs-stay') return describeStayingPacks(notice);
  return `the disk is full: ${countNoun(notice.packCount, 'pack')} with dead space could not be rewritten; run \`ldm compact\` again when there is room`;
}

type DerivedNotice = Extract<
  Notice,
  {
    kind:
      | 'checkpoint-damaged'
      | 'checkpoint-not-written'
      | 'manifest-copy-not-written'
      | 'verified-record-damaged'
      | 'verification-not-recorded';
  }
>;

/** About files without which nothing is lost. */
function describeDerived(notice: DerivedNotice): string {
  switch (notice.kind) {
    case 'checkpoint-damaged':
      return `${notice.name} is damaged and was not used (${notice.reason}). Nothing is lost, but commands start slower; run \`ldm repair\``;
    case 'checkpoint-not-written':
      return `the filter image could not be saved, so the next command takes longer to start: ${notice.reason}`;
    case 'manifest-copy-not-written':
      return `the second copy of the manifest could not be written; the next backup will try again: ${notice.reason}`;
    case 'verified-record-damaged':
      return `${notice.name} is damaged and was not used (${notice.reason}). Nothing is lost, but the packs that it lists are verified again`;
    default:
      return `what was verified could not be recorded, so the next check verifies it again: ${notice.reason}`;
  }
}

function describeClocks(aheadMs: number): string {
  const direction = aheadMs > 0 ? 'behind' : 'ahead of';
  return `the clock of this machine is ${describeSpan(Math.abs(aheadMs))} ${direction} that of the repository: the times of snapshots, and what rules of forget keep, may be wrong`;
}

/** In the largest unit of which there are two or more. */
function describeSpan(spanMs: number): string {
  const minutes = Math.round(spanMs / 60_000);
  if (minutes < 120) return countNoun(minutes, 'minute');
  return minutes < 48 * 60 ? countNoun(Math.round(minutes / 60), 'hour') : countNoun(Math.round(minutes / 1440), 'day');
}

function describeFuture(names: readonly string[]): string {
  return names.length === 1
    ? `snapshot ${names[0]} is dated in the future, so \`latest\` refers to it`
    : `${names.length} snapshots are dated in the future, so \`latest\` refers to one of them: ${enumerate(names)}`;
}

function describeCopyProblem({ snapshotId, path, message, advice }: CopyProblem): string {
  const what = path === undefined || path === '' ? message : `${displayPath(path)}: ${message}`;
  const hint = advice === undefined ? '' : `. ${hintOf(advice)}`;
  return `snapshot ${shortId(snapshotId)} was not copied: ${what}${hint}`;
}

function describeMount(notice: Extract<Notice, { kind: 'mount-failure' | 'unmounted-while-used' }>): string {
  if (notice.kind === 'unmounted-while-used')
    return 'it was unmounted while programs were using it; they get errors from now on';
  const { message, hint, advice } = notice;
  const help = advice === undefined ? hint : hintOf(advice);
  return `reading the mounted files failed: ${message}${help === undefined ? '' : `. ${help}`}`;
}
