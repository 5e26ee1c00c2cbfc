import type { OwnerNames } from '../../core/files/native/owner-names.ts';
import type { TarContent } from '../../core/format/tar/tar-content.ts';
import { TarReader } from '../../core/format/tar/tar-reader.ts';
import type { TarReaderOptions } from '../../core/format/tar/tar-reader.ts';
import type { ArchiveBytes } from '../../core/format/tar/archive-input.ts';
import type { TarMember } from '../../core/format/tar/tar-member.ts';
import { textOf } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { HoleTooLargeError } from '../../core/saving/content-saver.ts';
import { LARGE_FILE_BYTES } from '../../core/saving/changing-files.ts';
import type { ContentSaver, ContentSource, SavedContent } from '../../core/saving/content-saver.ts';
import type { BackupTally } from '../../core/saving/backup-tally.ts';
import type { SourceProblem } from '../../core/session/notices.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import type { ImportTree } from './import-tree.ts';
import { importedAttributes } from './imported-attributes.ts';
import { findMemberProblem, importedEntry, memberNames } from './imported-entry.ts';

/** The name in the entry of the top directory. Nothing reads it. */
const TOP_NAME = 'top' as ByteString;
/** The longest path that a program can open (PATH_MAX), and how much of a longer one messages show. */
const SHOWN_BYTES_MAX = 4096;
const SHOWN_BYTES = 60;

interface Services {
  readonly tree: ImportTree;
  readonly content: ContentSaver;
  readonly tally: BackupTally;
  readonly owners: OwnerNames;
  readonly pacer: Pacer;
  /** The components of the directory that the names in the archive start from. */
  readonly base: readonly ByteString[];
  readonly onProblem: (problem: SourceProblem) => void;
  readonly onFile: () => void;
}

/** A hard link to a name that the archive has later. */
interface EarlyLink {
  readonly member: TarMember;
  readonly names: readonly ByteString[];
  /** Whether it came with the content of its target, and is in the tree as a file. */
  readonly isFile: boolean;
}

/** Reads an archive from start to end: stores the contents of its files and collects its names. */
export class ArchiveRun {
  readonly #services: Services;
  /** By their paths. */
  readonly #earlyLinks = new Map<string, EarlyLink>();

  constructor(services: Services) {
    this.#services = services;
  }

  /** Throws ArchiveError if the archive is damaged or incomplete. */
  async read(bytes: ArchiveBytes, options: TarReaderOptions): Promise<void> {
    const reader = new TarReader(bytes, options);
    try {
      for (let member = await reader.next(); member !== undefined; member = await reader.next()) {
        await this.#import(member, reader.content);
        await this.#services.pacer.pause();
      }
    } finally {
      await reader.close();
    }
    for (const { member, isFile } of this.#addEarlyLinks().values()) {
      if (!isFile) this.#leaveOut(member, this.#problemOfTarget(member));
    }
  }

  #problemOfTarget(member: TarMember): string {
    const shown = textOf(member.linkTarget);
    return this.#services.tree.find(this.#target(member)) === undefined
      ? `the archive does not have ${shown}, of which it is a hard link`
      : `it is a hard link to the directory ${shown}, and no directory has several names`;
  }

  /** Adds hard links to later names, of which one can be the target of another. Returns those without a target. */
  #addEarlyLinks(): ReadonlyMap<string, EarlyLink> {
    const { tree } = this.#services;
    const left = this.#earlyLinks;
    const linksByTarget = new Map<string, EarlyLink[]>();
    for (const link of left.values()) {
      const target = this.#target(link.member).join('/');
      const links = linksByTarget.get(target);
      if (links === undefined) linksByTarget.set(target, [link]);
      else links.push(link);
    }
    const ready = [...linksByTarget.values()].flat().filter(({ member }) => tree.has(this.#target(member)));
    // It grows on the way.
    for (const { member, names } of ready) {
      const path = names.join('/');
      left.delete(path);
      this.#leaveOut(member, tree.addLink(names, this.#target(member)));
      if (tree.has(names)) for (const link of linksByTarget.get(path) ?? []) ready.push(link);
      linksByTarget.delete(path);
    }
    return left;
  }

  async #import(member: TarMember, content: TarContent): Promise<void> {
    const { tree, base } = this.#services;
    const problem = findMemberProblem(member);
    if (problem !== undefined) return this.#leaveOut(member, problem);
    const names = [...base, ...memberNames(member.path)];
    // A later entry of the same name replaces an earlier one.
    if (this.#earlyLinks.size > 0) this.#earlyLinks.delete(names.join('/'));
    if (member.type !== 'hardlink') return await this.#add(member, names, content);
    const target = this.#target(member);
    if (tree.has(target)) return this.#leaveOut(member, tree.addLink(names, target));
    const isFile = member.sizeBytes > 0;
    if (isFile) await this.#add(member, names, content);
    this.#earlyLinks.set(names.join('/'), { member, names, isFile });
  }

  async #add(member: TarMember, names: readonly ByteString[], content: TarContent): Promise<void> {
    const { tally, tree, onFile, owners } = this.#services;
    tally.begin({ parent: undefined, name: member.path });
    const saved = member.sizeBytes > 0 ? await this.#save(member, content) : undefined;
    if (typeof saved === 'string') return this.#leaveOut(member, saved);
    const changes = [...(member.defaults ?? [])];
    const attributes = importedAttributes(member, owners, (change) => changes.push(change));
    const problem = tree.add(names, importedEntry(names.at(-1) ?? TOP_NAME, member, attributes, saved));
    if (problem !== undefined) return this.#leaveOut(member, problem);
    for (const change of changes) this.#report(member, `imported ${change}`);
    if (member.type === 'file') onFile();
  }

  /** Returns why the content cannot be stored, although the archive can be read on. */
  async #save({ sizeBytes }: TarMember, content: TarContent): Promise<SavedContent | string> {
    let readBytes = 0;
    try {
      const source: ContentSource = {
        get isAtEnd() {
          return readBytes === sizeBytes;
        },
        get sizeBytes() {
          return readBytes;
        },
        fill: async (buffer, end) => {
          const addedBytes = await content.read(buffer.subarray(end));
          readBytes += addedBytes;
          return end + addedBytes;
        },
        get zerosAhead() {
          return content.zerosAhead;
        },
        skipZeros: (lengthBytes) => {
          content.skipZeros(lengthBytes);
          readBytes += lengthBytes;
        },
      };
      // A backup may have stored the same file in small chunks.
      return await this.#services.content.save(source, sizeBytes < LARGE_FILE_BYTES ? undefined : 'known');
    } catch (error) {
      if (error instanceof HoleTooLargeError) return `${error.message} (${formatBytes(sizeBytes)})`;
      throw error;
    }
  }

  #target({ linkTarget }: TarMember): ByteString[] {
    return [...this.#services.base, ...memberNames(linkTarget)];
  }

  /** Reports why a member is not in the snapshot. */
  #leaveOut(member: TarMember, problem: string | undefined): void {
    if (problem === undefined) return;
    const what = member.path === '' ? 'an entry' : textOf(shownPath(member));
    this.#report(member, `cannot import ${what}: ${problem}`);
  }

  #report(member: TarMember, message: string): void {
    this.#services.onProblem({ path: shownPath(member), during: 'import', message });
  }
}

/** A damaged archive can have a name of a megabyte. */
function shownPath({ path }: TarMember): ByteString {
  return path.length > SHOWN_BYTES_MAX ? (`${path.slice(0, SHOWN_BYTES)}...` as ByteString) : path;
}
