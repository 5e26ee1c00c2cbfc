import { isUtf8 } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { encodeAttributes } from './pax-attributes.ts';
import { encodePaxRecords, formatPaxTime } from './pax-records.ts';
import type { PaxRecord } from './pax-records.ts';
import { fitsInField, writeChecksum, writeNumberField, writeTextField } from './tar-fields.ts';
import { TAR_BLOCK_BYTES, TAR_FIELDS, TAR_TYPE_LETTERS, paddedBytes } from './tar-member.ts';
import type { DataRun, TarField, TarMember, TarTime } from './tar-member.ts';

/** The end of an archive: two blocks of zeros, and padding to the record of 20 blocks that tape drives needed. */
export const TAR_END: Uint8Array = new Uint8Array(2 * TAR_BLOCK_BYTES);

const NO_RECORDS: readonly PaxRecord[] = [];
/** Most of the name of an extended header; nothing reads it. */
const PAX_NAME = 'PaxHeaders/';
/** What GNU tar writes into the name field of a sparse file, for programs that do not know its format. */
const SPARSE_NAME = 'GNUSparseFile.0/';

/**
 * Encodes everything of a member that precedes its content: an extended header if it needs one (POSIX.1-2017, pax
 * interchange format), its header, and the map of a sparse file (GNU sparse format 1.0). The content follows: the bytes
 * of its data runs, or of the whole file, padded with zeros to a multiple of 512.
 */
export function encodeTarMember(member: TarMember): Buffer {
  const map = member.dataRuns === undefined ? undefined : encodeSparseMap(member.dataRuns, member.sizeBytes);
  const records = [...(map === undefined ? NO_RECORDS : sparseRecords(member)), ...recordsOf(member, map)];
  const name = map === undefined ? member.path : withLastName(member.path, SPARSE_NAME);
  const header = encodeHeader({ ...member, path: name, sizeBytes: storedBytesOf(member, map) });
  return Buffer.concat([encodeExtendedHeader(member, records), header, ...(map === undefined ? [] : [map])]);
}

/** Returns how many bytes of content follow the header in the archive, without the padding. */
export function contentBytesOf({ dataRuns, sizeBytes }: Pick<TarMember, 'dataRuns' | 'sizeBytes'>): number {
  return dataRuns?.reduce((sum, run) => sum + run.lengthBytes, 0) ?? sizeBytes;
}

function storedBytesOf(member: TarMember, map: Buffer | undefined): number {
  return contentBytesOf(member) + (map?.length ?? 0);
}

function encodeExtendedHeader(member: TarMember, records: readonly PaxRecord[]): Buffer {
  if (records.length === 0) return Buffer.alloc(0);
  const content = encodePaxRecords(records);
  const padded = Buffer.alloc(paddedBytes(content.length));
  content.copy(padded);
  const block = Buffer.alloc(TAR_BLOCK_BYTES);
  writeTextField(block, 'name', `${PAX_NAME}${lastNameOf(member.path)}` as ByteString);
  writeNumberField(block, 'mode', 0o644);
  writeNumberField(block, 'uid', 0);
  writeNumberField(block, 'gid', 0);
  writeNumberField(block, 'size', content.length);
  writeNumberField(block, 'mtime', clamped('mtime', member.mtime.seconds));
  finishHeader(block, 'x');
  return Buffer.concat([block, padded]);
}

function encodeHeader(member: TarMember): Buffer {
  const { type } = member;
  const block = Buffer.alloc(TAR_BLOCK_BYTES);
  // Cut off behind a slash, a long name of a file would be that of a directory.
  const name = member.path.slice(0, TAR_FIELDS.name[1]) as ByteString;
  writeTextField(block, 'name', member.type === 'file' ? (name.replace(/\/+$/, '') as ByteString) : name);
  writeNumberField(block, 'mode', member.mode);
  for (const field of ['uid', 'gid', 'deviceMajor', 'deviceMinor'] as const)
    writeNumberField(block, field, clamped(field, member[field]));
  writeNumberField(block, 'size', clamped('size', member.sizeBytes));
  writeNumberField(block, 'mtime', clamped('mtime', member.mtime.seconds));
  writeTextField(block, 'linkName', member.linkTarget);
  writeTextField(block, 'user', member.user.slice(0, TAR_FIELDS.user[1] - 1) as ByteString);
  writeTextField(block, 'group', member.group.slice(0, TAR_FIELDS.group[1] - 1) as ByteString);
  finishHeader(block, type === 'unknown' ? '0' : TAR_TYPE_LETTERS[type]);
  return block;
}

function finishHeader(block: Buffer, type: string): void {
  writeTextField(block, 'type', type as ByteString);
  writeTextField(block, 'magic', 'ustar\x0000' as ByteString);
  writeChecksum(block);
}

/** A number that does not fit is in the extended header. */
function clamped(field: TarField, value: number): number {
  return fitsInField(field, value) ? value : 0;
}

/** Returns the records for everything that the header has no room for. */
function recordsOf(member: TarMember, map: Buffer | undefined): PaxRecord[] {
  const { path, linkTarget, user, group, uid, gid, mtime, accessAcl, defaultAcl } = member;
  const sizeBytes = storedBytesOf(member, map);
  const records: PaxRecord[] = [];
  const add = (key: string, value: string | number): void => void records.push([key, String(value) as ByteString]);
  if (map === undefined && path.length > TAR_FIELDS.name[1]) add('path', path);
  if (linkTarget.length > TAR_FIELDS.linkName[1]) add('linkpath', linkTarget);
  if (user.length >= TAR_FIELDS.user[1]) add('uname', user);
  if (group.length >= TAR_FIELDS.group[1]) add('gname', group);
  // GNU tar warns about this record, so it is only there if bsdtar would refuse the name without it.
  if (records.some(([, value]) => !isUtf8(value))) records.unshift(['hdrcharset', 'BINARY' as ByteString]);
  if (!fitsInField('uid', uid)) add('uid', uid);
  if (!fitsInField('gid', gid)) add('gid', gid);
  if (!fitsInField('size', sizeBytes)) add('size', sizeBytes);
  if (!isWholeTime(mtime)) add('mtime', formatPaxTime(mtime));
  if (accessAcl !== '') add('SCHILY.acl.access', accessAcl);
  if (defaultAcl !== '') add('SCHILY.acl.default', defaultAcl);
  return [...records, ...encodeAttributes(member.attributes)];
}

function isWholeTime({ seconds, nanoseconds }: TarTime): boolean {
  return nanoseconds === 0 && fitsInField('mtime', seconds);
}

function sparseRecords({ path, sizeBytes }: TarMember): PaxRecord[] {
  return [
    ['GNU.sparse.major', '1' as ByteString],
    ['GNU.sparse.minor', '0' as ByteString],
    ['GNU.sparse.name', path],
    ['GNU.sparse.realsize', String(sizeBytes) as ByteString],
  ];
}

/**
 * The number of runs, then offset and length of each, a line each. A file that ends with a hole has an empty run at its
 * end.
 */
function encodeSparseMap(runs: readonly DataRun[], sizeBytes: number): Buffer {
  const last = runs.at(-1);
  const endsInHole = last === undefined || last.offset + last.lengthBytes < sizeBytes;
  const all = endsInHole ? [...runs, { offset: sizeBytes, lengthBytes: 0 }] : runs;
  const lines = [all.length, ...all.flatMap(({ offset, lengthBytes }) => [offset, lengthBytes])];
  const text = `${lines.join('\n')}\n`;
  const map = Buffer.alloc(paddedBytes(text.length));
  map.write(text, 'latin1');
  return map;
}

function lastNameOf(path: ByteString): string {
  return path.replace(/\/+$/, '').replace(/^.*\//s, '');
}

/** Inserts a directory before the last name of a path. */
function withLastName(path: ByteString, directory: string): ByteString {
  const name = lastNameOf(path);
  return `${path.slice(0, path.length - name.length)}${directory}${name}` as ByteString;
}
