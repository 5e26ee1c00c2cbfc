import type { OwnerNames } from '../../files/owner-names.ts';
import { TarReader } from '../../format/tar/tar-reader.ts';
import type { ArchiveBytes } from '../../format/tar/archive-input.ts';
import type { TarMember } from '../../format/tar/tar-member.ts';
import { textOf } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import type { ContentSaver, SavedContent } from '../backup/content-saver.ts';
import type { BackupTally } from '../backup/backup-tally.ts';
import type { SourceProblem } from '../backup/problems.ts';
import type { Pacer } from '../context.ts';
import type { ImportTree } from './import-tree.ts';
import { importedAttributes } from './imported-attributes.ts';
import { findMemberProblem, importedEntry, memberNames } from './imported-entry.ts';

/** The name in the entry of the top directory. Nothing reads it. */
const TOP_NAME = 'top' as ByteString;

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
  async read(bytes: ArchiveBytes): Promise<void> {
    const reader = new TarReader(bytes);
    try {
      for (let member = await reader.next(); member !== undefined; member = await reader.next()) {
        await this.#import(member, reader);
        await this.#services.pacer.pause();
      }
    } finally {
      await reader.close();
    }
    for (const { member } of this.#addEarlyLinks().values()) {
      this.#report(member, `the archive does not have ${textOf(member.linkTarget)}, of which it is a hard link`);
    }
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
      this.#report(member, tree.addLink(names, this.#target(member)));
      if (tree.has(names)) ready.push(...(linksByTarget.get(path) ?? []));
      linksByTarget.delete(path);
    }
    return left;
  }

  async #import(member: TarMember, reader: TarReader): Promise<void> {
    const { tally, tree, onFile, base, owners } = this.#services;
    const problem = findMemberProblem(member);
    if (problem !== undefined) return this.#report(member, problem);
    const names = [...base, ...memberNames(member.path)];
    // A later entry of the same name replaces an earlier one.
    this.#earlyLinks.delete(names.join('/'));
    if (member.type === 'hardlink') return this.#link(member, names);
    tally.begin({ parent: undefined, name: member.path });
    const content = member.sizeBytes > 0 ? await this.#save(member, reader) : undefined;
    const attributes = importedAttributes(member, owners, (reason) => this.#report(member, reason));
    this.#report(member, tree.add(names, importedEntry(names.at(-1) ?? TOP_NAME, member, attributes, content)));
    if (member.type === 'file') onFile();
  }

  async #save({ sizeBytes }: TarMember, reader: TarReader): Promise<SavedContent> {
    let readBytes = 0;
    return await this.#services.content.save({
      get isAtEnd() {
        return readBytes === sizeBytes;
      },
      get sizeBytes() {
        return readBytes;
      },
      fill: async (buffer, end) => {
        const addedBytes = await reader.read(buffer.subarray(end));
        readBytes += addedBytes;
        return end + addedBytes;
      },
    });
  }

  #link(member: TarMember, names: readonly ByteString[]): void {
    const { tree } = this.#services;
    const target = this.#target(member);
    if (tree.has(target)) this.#report(member, tree.addLink(names, target));
    else this.#earlyLinks.set(names.join('/'), { member, names });
  }

  #target({ linkTarget }: TarMember): ByteString[] {
    return [...this.#services.base, ...memberNames(linkTarget)];
  }

  /** Reports why a member, or a part of it, is not in the snapshot. */
  #report({ path }: TarMember, problem: string | undefined): void {
    if (problem === undefined) return;
    const message = `cannot import ${textOf(path)}: ${problem}`;
    this.#services.onProblem({ path, during: 'import', message });
  }
}
