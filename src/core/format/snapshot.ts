import { CorruptDataError, UnsupportedFormatError } from '../errors.ts';
import { bytesOf, byteStringFromBytes, byteStringFromText, isUtf8, joinPath, textOf } from '../util/byte-string.ts';
import type { ByteString } from '../util/byte-string.ts';
import { CHUNK_ID_BYTES, FILE_ID_BYTES, MAX_SNAPSHOT_BYTES, SNAPSHOT_VERSION } from './constants.ts';
import { JsonReader, hexPattern, isUtcTime, parseJson } from './json-reader.ts';
import { MARK_MEMBERS, encodeMarks, readMarks } from './snapshot-marks.ts';
import type { SnapshotMarks } from './snapshot-marks.ts';
import { encodeSummary, readSummary } from './snapshot-summary.ts';
import type { SnapshotSummary, UnknownMembers } from './snapshot-summary.ts';
import { isEntryName } from './tree/tree-entry-encoder.ts';

export type { SnapshotSummary } from './snapshot-summary.ts';

/**
 * Says that the entries of a snapshot have everything that extensions of trees can record: all of it, or what a user
 * without CAP_SYS_ADMIN sees, which excludes extended attributes of the namespace `trusted`.
 */
export type RecordedAttributes = 'all' | 'visible';

/** The manifest of one backup. Its id is the hex SHA-256 of its bytes. */
export interface Snapshot extends SnapshotMarks {
  readonly formatVersion: 1;
  /** Random text that makes the ids of otherwise equal snapshots differ. */
  readonly nonce: string;
  /** Hex id of the root tree. */
  readonly tree: string;
  /** The absolute path of the root tree: the common parent of the backed-up paths. */
  readonly base: ByteString;
  /** The absolute paths that were backed up, sorted by bytes, without duplicates. */
  readonly paths: readonly ByteString[];
  /** RFC 3339, UTC. */
  readonly time: string;
  readonly hostname: string;
  readonly username: string;
  readonly uid: number;
  readonly gid: number;
  readonly tags: readonly string[];
  /** Hex id of the snapshot that this backup was compared with. */
  readonly parent?: string;
  /** Hex id with which this snapshot was made. Only if it is a copy from another repository, or was changed since. */
  readonly original?: string;
  /** Undefined if entries may lack attributes that the sources had. */
  readonly attributes?: RecordedAttributes;
  readonly programVersion: string;
  readonly summary: SnapshotSummary;
  /** Members that this version of the program does not know. They are kept when a snapshot is copied. */
  readonly others?: UnknownMembers;
}

const MEMBERS: ReadonlySet<string> = new Set([
  'format_version',
  'nonce',
  'time',
  'tree',
  'base',
  'base_b64',
  'paths',
  'paths_b64',
  'hostname',
  'username',
  'uid',
  'gid',
  'tags',
  'parent',
  'original',
  'attributes',
  'program_version',
  'summary',
  ...MARK_MEMBERS,
]);
const NONCE = /^[0-9A-Za-z_-]{1,128}$/;
const TREE_ID = hexPattern(CHUNK_ID_BYTES);
const SNAPSHOT_ID = hexPattern(FILE_ID_BYTES);

export function encodeSnapshot(snapshot: Snapshot): Buffer {
  const { base, paths } = snapshot;
  const bytes = Buffer.from(
    `${JSON.stringify({
      format_version: snapshot.formatVersion,
      nonce: snapshot.nonce,
      time: snapshot.time,
      tree: snapshot.tree,
      base: textOf(base),
      ...(isUtf8(base) ? {} : { base_b64: base64Of(base) }),
      paths: paths.map(textOf),
      ...(paths.every(isUtf8) ? {} : { paths_b64: paths.map(base64Of) }),
      hostname: snapshot.hostname,
      username: snapshot.username,
      uid: snapshot.uid,
      gid: snapshot.gid,
      tags: snapshot.tags,
      ...(snapshot.parent === undefined ? {} : { parent: snapshot.parent }),
      ...(snapshot.original === undefined ? {} : { original: snapshot.original }),
      ...(snapshot.attributes === undefined ? {} : { attributes: snapshot.attributes }),
      ...encodeMarks(snapshot),
      program_version: snapshot.programVersion,
      summary: encodeSummary(snapshot.summary),
      ...snapshot.others,
    })}\n`,
  );
  // Verify the encoding, because an unreadable manifest must never be committed.
  decodeSnapshot(bytes, 'new snapshot');
  return bytes;
}

/**
 * Keeps unknown members without checking them.
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version is unknown
 */
export function decodeSnapshot(bytes: Uint8Array, what = 'snapshot'): Snapshot {
  const reader = new JsonReader(parseJson(bytes, { maxBytes: MAX_SNAPSHOT_BYTES, what }), what);
  const version = reader.count('format_version');
  if (version !== SNAPSHOT_VERSION) {
    throw new UnsupportedFormatError(`${what}: snapshot version ${version} is not supported`);
  }
  const base = readBase(reader);
  const paths = readPaths(reader);
  const problem = findPathProblem(base, paths);
  if (problem !== undefined) throw new CorruptDataError(`${what}: ${problem}`);
  const others = reader.others(MEMBERS);
  return {
    formatVersion: version,
    nonce: reader.string('nonce', NONCE),
    tree: reader.string('tree', TREE_ID),
    base,
    paths,
    time: reader.string('time', isUtcTime),
    hostname: reader.string('hostname'),
    username: reader.string('username'),
    uid: reader.u32('uid'),
    gid: reader.u32('gid'),
    tags: reader.strings('tags'),
    ...(reader.has('parent') ? { parent: reader.string('parent', SNAPSHOT_ID) } : {}),
    ...(reader.has('original') ? { original: reader.string('original', SNAPSHOT_ID) } : {}),
    ...readAttributes(reader),
    ...readMarks(reader),
    programVersion: reader.string('program_version'),
    summary: readSummary(reader.object('summary')),
    ...(others === undefined ? {} : { others }),
  };
}

function readAttributes(reader: JsonReader): { attributes?: RecordedAttributes } {
  if (!reader.has('attributes')) return {};
  return { attributes: reader.string('attributes', /^(all|visible)$/) as RecordedAttributes };
}

function readBase(reader: JsonReader): ByteString {
  const text = reader.string('base');
  if (!reader.has('base_b64')) return byteStringFromText(text);
  const base = byteStringFromBase64(reader.string('base_b64', isBase64));
  if (textOf(base) !== text) reader.fail('base_b64', 'contradicts "base"');
  return base;
}

function readPaths(reader: JsonReader): ByteString[] {
  const texts = reader.strings('paths');
  if (!reader.has('paths_b64')) return texts.map(byteStringFromText);
  const paths = reader.strings('paths_b64', isBase64).map(byteStringFromBase64);
  if (paths.length !== texts.length || paths.some((path, i) => textOf(path) !== texts[i])) {
    reader.fail('paths_b64', 'contradicts "paths"');
  }
  return paths;
}

function findPathProblem(base: ByteString, paths: readonly ByteString[]): string | undefined {
  if (!isAbsolutePath(base)) return 'the base is not a normalised absolute path';
  if (paths.length === 0) return 'there are no paths';
  const below = joinPath(base, byteStringFromText(''));
  for (const [i, path] of paths.entries()) {
    if (!isAbsolutePath(path)) return `path ${i} is not a normalised absolute path`;
    if (path !== base && !path.startsWith(below)) return `path ${i} is not below the base`;
    if (i > 0 && path <= paths[i - 1]!) return 'the paths are not sorted';
  }
  return undefined;
}

/** Also rejects '.', '..' and empty names. */
function isAbsolutePath(path: ByteString): boolean {
  if (path === '/') return true;
  return path.startsWith('/') && (path.slice(1).split('/') as ByteString[]).every(isEntryName);
}

function base64Of(name: ByteString): string {
  return bytesOf(name).toString('base64');
}

function byteStringFromBase64(text: string): ByteString {
  return byteStringFromBytes(Buffer.from(text, 'base64'));
}

/** Accepts only the canonical form. */
function isBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text;
}
