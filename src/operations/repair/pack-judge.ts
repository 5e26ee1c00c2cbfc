import { CorruptDataError } from '../../errors.ts';
import type { PackContents } from '../../format/pack.ts';
import type { Listing } from '../../repository/listing.ts';
import type { Repository } from '../../repository/repository.ts';
import type { PackVerifier } from '../../store/pack-verifier.ts';

/** Remembers the verdict on each pack: several segments may name it. */
export class PackJudge {
  readonly #repository: Repository;
  readonly #verifier: PackVerifier;
  readonly #verdicts = new Map<string, boolean>();

  constructor(repository: Repository) {
    this.#repository = repository;
    this.#verifier = repository.packVerifier();
  }

  get badIds(): string[] {
    return [...this.#verdicts].filter(([, isWhole]) => !isWhole).map(([id]) => id);
  }

  isBad(id: string): boolean {
    return this.#verdicts.get(id) === false;
  }

  knows(id: string): boolean {
    return this.#verdicts.has(id);
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
    return await twice(async () => {
      try {
        return await this.#repository.files.readSegment(id);
      } catch (error) {
        if (!(error instanceof CorruptDataError)) throw error;
        return undefined;
      }
    });
  }

  async isWhole(pack: PackContents): Promise<boolean> {
    const known = this.#verdicts.get(pack.id);
    if (known !== undefined) return known;
    const isWhole = await twice(async () => ((await this.#isSound(pack)) ? pack : undefined));
    this.#verdicts.set(pack.id, isWhole !== undefined);
    return isWhole !== undefined;
  }

  /** A pack that no segment lists, by its own footer; undefined if it is damaged. */
  async readUnindexed(id: string): Promise<PackContents | undefined> {
    const pack = await twice(async () => this.#repository.packs.readSoundContents(id));
    if (pack !== undefined && (await this.isWhole(pack))) return pack;
    this.#verdicts.set(id, false);
    return undefined;
  }

  async #isSound(pack: PackContents): Promise<boolean> {
    return (await this.#verifier.verifyData(pack)).problems.length === 0;
  }
}

/** Two reads must agree before anything is called bad: memory and cables fail too. */
async function twice<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
  return (await read()) ?? (await read());
}
