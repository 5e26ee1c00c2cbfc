import { contentBytesOf, encodeTarMember, TAR_END } from '../../src/format/tar/tar-encoder.ts';
import { paddedBytes } from '../../src/format/tar/tar-member.ts';
import type { TarMember } from '../../src/format/tar/tar-member.ts';
import type { ByteString } from '../../src/util/byte-string.ts';

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

/** A byte string of a literal. */
export function bs(text: string): ByteString {
  return text as ByteString;
}
