import { ACCESS_ACL, DEFAULT_ACL, formatAcl } from '../../core/format/tar/acl-text.ts';
import { TAR_END, contentBytesOf, encodeTarMember } from '../../core/format/tar/tar-encoder.ts';
import { paddedBytes } from '../../core/format/tar/tar-member.ts';
import type { DataRun, TarMember } from '../../core/format/tar/tar-member.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { SnapshotFile, SnapshotReader } from '../../core/snapshots/open-snapshot.ts';
import type { ArchiveEntry } from './archive-entries.ts';
import { FirstNames } from './first-names.ts';
import type { OutputBuffer } from './output-buffer.ts';

const NOTHING = '' as ByteString;

/** Writes entries as a tar archive (pax, with the extensions of GNU tar for holes and of star for ACLs and attributes). */
export class TarOutput {
  readonly #snapshot: SnapshotReader;
  readonly #output: OutputBuffer;
  readonly #firstNames = new FirstNames();

  constructor(snapshot: SnapshotReader, output: OutputBuffer) {
    this.#snapshot = snapshot;
    this.#output = output;
  }

  /** Returns whether a tar archive can have the entry. */
  canHave({ type }: TreeEntry): boolean {
    return type !== 'socket';
  }

  async add({ path, entry }: ArchiveEntry): Promise<void> {
    const firstName = this.#firstNames.find(path, entry);
    if (firstName !== undefined) {
      await this.#output.add(encodeTarMember({ ...memberOf(path, entry), ...linkTo(firstName) }));
      return;
    }
    // Opened first, because it throws if a chunk is missing: the archive then ends between two entries.
    const file = entry.type === 'file' && entry.sizeBytes > 0 ? await this.#snapshot.openFile(entry) : undefined;
    const member = { ...memberOf(path, entry), dataRuns: await dataRunsOf(file) };
    await this.#output.add(encodeTarMember(member));
    if (file === undefined) return;
    for (const { offset, lengthBytes } of member.dataRuns ?? [{ offset: 0, lengthBytes: entry.sizeBytes }]) {
      for await (const piece of file.pieces({ start: offset, end: offset + lengthBytes }))
        await this.#output.add(piece);
    }
    const storedBytes = contentBytesOf(member);
    await this.#output.add(new Uint8Array(paddedBytes(storedBytes) - storedBytes));
  }

  async finish(): Promise<void> {
    await this.#output.add(TAR_END);
  }
}

function memberOf(path: ByteString, entry: TreeEntry): TarMember {
  const { type, mode, uid, gid, user, group, linkTarget, deviceMajor, deviceMinor, sizeBytes } = entry;
  const aclOf = (name: ByteString): ByteString | undefined => {
    const attribute = entry.xattrs.find((each) => each.name === name);
    return attribute === undefined ? undefined : formatAcl(attribute.value);
  };
  const [accessAcl, defaultAcl] = [aclOf(ACCESS_ACL), aclOf(DEFAULT_ACL)];
  const isInText = (name: ByteString): boolean =>
    (name === ACCESS_ACL && accessAcl !== undefined) || (name === DEFAULT_ACL && defaultAcl !== undefined);
  return {
    path: (type === 'directory' ? `${path}/` : path) as ByteString,
    type: type === 'socket' ? 'unknown' : type,
    mode,
    uid,
    gid,
    user,
    group,
    mtime: { seconds: entry.mtimeSeconds, nanoseconds: entry.mtimeNanoseconds },
    ctime: undefined,
    linkTarget,
    deviceMajor,
    deviceMinor,
    sizeBytes,
    dataRuns: undefined,
    attributes: entry.xattrs.filter(({ name }) => !isInText(name)),
    accessAcl: accessAcl ?? NOTHING,
    defaultAcl: defaultAcl ?? NOTHING,
  };
}

/** The attributes of a file are those of its first name. */
function linkTo(linkTarget: ByteString): Partial<TarMember> {
  const nothing = { deviceMajor: 0, deviceMinor: 0, sizeBytes: 0 };
  return { type: 'hardlink', linkTarget, ...nothing, attributes: [], accessAcl: NOTHING, defaultAcl: NOTHING };
}

/** Returns everything between the holes; undefined without holes. */
async function dataRunsOf(file: SnapshotFile | undefined): Promise<DataRun[] | undefined> {
  const holes = await file?.holes();
  if (file === undefined || holes === undefined || holes.length === 0) return undefined;
  const { sizeBytes } = file;
  const runs: DataRun[] = [];
  let end = 0;
  for (let i = 0; i <= holes.length; i += 2) {
    const start = holes[i] ?? sizeBytes;
    if (start > end) runs.push({ offset: end, lengthBytes: start - end });
    end = holes[i + 1] ?? sizeBytes;
  }
  return runs;
}
