import { contentBytesOf, encodeTarMember, TAR_END } from '../../src/core/format/tar/tar-encoder.ts';
import { encodePaxRecords } from '../../src/core/format/tar/pax-records.ts';
import type { PaxRecord } from '../../src/core/format/tar/pax-records.ts';
import { writeChecksum } from '../../src/core/format/tar/tar-fields.ts';
import { TAR_BLOCK_BYTES, TAR_FIELDS, paddedBytes } from '../../src/core/format/tar/tar-member.ts';
import type { TarField, TarMember } from '../../src/core/format/tar/tar-member.ts';
import type { ByteString } from '../../src/core/util/byte-string.ts';

/** What a test says about a member; the rest has defaults. */
export type SampleMember = Partial<Omit<TarMember, 'path'>> & { readonly path: string; readonly content?: string };

/** Returns a whole archive. */
export function sampleArchive(members: readonly SampleMember[]): Buffer {
  return Buffer.concat([...members.map(encodeSample), TAR_END]);
}

export function encodeSample({ content = '', ...given }: SampleMember): Buffer {
  const isFile = given.type === undefined || given.type === 'file';
  const member = {
    type: 'file',
    mode: 0o640,
    uid: 7,
    gid: 8,
    user: '',
    group: '',
    mtime: { seconds: 1000, nanoseconds: 5 },
    ctime: undefined,
    linkTarget: '',
    deviceMajor: 0,
    deviceMinor: 0,
    sizeBytes: isFile ? content.length : 0,
    dataRuns: undefined,
    attributes: [],
    accessAcl: '',
    defaultAcl: '',
    ...given,
  } as TarMember;
  const padding = Buffer.alloc(paddedBytes(contentBytesOf(member)) - contentBytesOf(member));
  return Buffer.concat([encodeTarMember(member), Buffer.from(content, 'latin1'), padding]);
}

/** Returns a member with one header, in which these fields have other bytes. */
export function oddMember(given: SampleMember, fields: Partial<Record<TarField, string>>): Buffer {
  const bytes = encodeSample({ mtime: { seconds: 5, nanoseconds: 0 }, ...given });
  const header = bytes.subarray(0, TAR_BLOCK_BYTES);
  for (const [field, text] of Object.entries(fields)) {
    const [offset, lengthBytes] = TAR_FIELDS[field as TarField];
    header.fill(0, offset, offset + lengthBytes);
    header.write(text, offset, 'latin1');
  }
  writeChecksum(header);
  return bytes;
}

/** Returns an extended header with these records, or with other bytes, for the next member or (`g`) for all. */
export function extendedHeader(records: readonly PaxRecord[] | string, type: 'x' | 'g' = 'x'): Buffer {
  const content = typeof records === 'string' ? records : encodePaxRecords(records).toString('latin1');
  return oddMember({ path: 'extended', content }, { type });
}

/** A byte string of a literal. */
export function bs(text: string): ByteString {
  return text as ByteString;
}
