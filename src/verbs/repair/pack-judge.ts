import { CorruptDataError, isAbsent, isDamage } from '../../core/errors.ts';
import type { PackContents } from '../../core/format/pack.ts';
import type { Listing } from '../../core/repository/listing.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { PackReport } from '../../core/store/pack-report.ts';
import type { PackVerifier } from '../../core/store/pack-verifier.ts';

/** Remembers the verdict on each pack: several segments may name it, and one of them may lie about it. */
export class PackJudge {
  readonly #repository: Repository;
  readonly #verifier: PackVerifier;
  /** By pack: whether it is whole as it is listed, by the digest of the listing. */
  readonly #verdicts = new Map<string, Map<string, boolean>>();
  /** The reports on packs that the place does not read. They stay as they are. */
  readonly #unread = new Map<string, PackReport>();
  readonly #unreadIndex = new Set<string>();
  readonly #damagedCopies = new Map<string, readonly string[]>();

  constructor(repository: Repository) {
    this.#repository = repository;
    this.#verifier = repository.packVerifier();
  }

  get badIds(): string[] {
    return [...this.#verdicts.keys()].filter((id) => this.isBad(id));
  }

  /** By pack that has a sound copy: the ids of its damaged copies. See `PackStore.copyIdsOf`. */
  get damagedCopies(): ReadonlyMap<string, readonly string[]> {
    return this.#damagedCopies;
  }

  get unreadReports(): PackReport[] {
    return [...this.#unread.values()];
  }

  /** Whether the place does not read a segment. */
  isUnreadSegment(id: string): boolean {
    return this.#unreadIndex.has(id);
  }

  /** Whether nothing may rely on a pack. */
  isDoubtful(id: string): boolean {
    return this.isBad(id) || this.#unread.has(id);
  }

  isBad(id: string): boolean {
    const verdicts = this.#verdicts.get(id);
    return verdicts !== undefined && ![...verdicts.values()].includes(true);
  }

  /** Judges all packs that readable segments list. */
  async judgeListed({ segmentIds }: Listing): Promise<void> {
    for await (const [, packs] of this.readSegments(segmentIds)) {
      for (const pack of (await packs) ?? []) await this.isWhole(pack);
    }
  }

  /** The result is undefined for a damaged segment. */
  readSegments(ids: readonly string[]): AsyncGenerator<readonly [string, Promise<PackContents[] | undefined>]> {
    return this.#repository.files.prefetch(ids, async (id) => this.#readSegment(id));
  }

  async #readSegment(id: string): Promise<PackContents[] | undefined> {
    try {
      return await this.#repository.files.readSegment(id);
    } catch (error) {
      if (!isDamage(error) && !isAbsent(error)) throw error;
      if (!(error instanceof CorruptDataError || isAbsent(error))) this.#unreadIndex.add(id);
      return undefined;
    }
  }

  /** Whether nothing shows that a pack is damaged. One that the place does not read counts as whole. */
  async isWhole(pack: PackContents): Promise<boolean> {
    const verdicts = this.#verdicts.get(pack.id) ?? new Map<string, boolean>();
    this.#verdicts.set(pack.id, verdicts);
    const listing = this.#repository.packs.digestOfListing(pack);
    const known = verdicts.get(listing);
    if (known !== undefined) return known;
    const isWhole = await this.#hasSoundCopy(pack);
    verdicts.set(listing, isWhole);
    return isWhole;
  }

  /** A pack that no segment lists, by its own footer; undefined if it is damaged or not readable. */
  async readUnindexed(id: string): Promise<PackContents | undefined> {
    const pack = await this.#repository.packs.readSoundContents(id).catch((error: unknown) => {
      if (!isDamage(error)) throw error;
      return 'unread' as const;
    });
    if (pack === 'unread') return undefined;
    if (pack !== undefined && (await this.isWhole(pack))) return pack;
    if (!this.#verdicts.has(id)) this.#verdicts.set(id, new Map());
    return undefined;
  }

  async #hasSoundCopy(pack: PackContents): Promise<boolean> {
    const copyIds = await this.#repository.packs.copyIdsOf(pack.id);
    if (copyIds.length === 0) {
      const report = await this.#verifier.verifyData(pack, pack.id);
      if (report.isUnread === true) this.#unread.set(pack.id, report);
      return report.problems.length === 0 || report.isUnread === true;
    }
    const damaged: string[] = [];
    for (const copyId of copyIds) if (!(await this.#isSound(pack, copyId))) damaged.push(copyId);
    if (damaged.length === copyIds.length) return false;
    if (damaged.length > 0) this.#damagedCopies.set(pack.id, damaged);
    return true;
  }

  async #isSound(pack: PackContents, copyId: string): Promise<boolean> {
    return (await this.#verifier.verifyData(pack, copyId)).problems.length === 0;
  }
}
