import type { PackContents } from '../format/pack.ts';
import type { Repository } from '../repository/repository.ts';
import type { PackReport } from '../store/pack-report.ts';
import type { PackVerifier } from '../store/pack-verifier.ts';
import { mapConcurrently } from '../util/map-concurrently.ts';
import { Pacer } from '../util/pacer.ts';
import type { Caller } from '../session/caller.ts';

/** Packs verified at a time: one is read while another is hashed. */
const PACKS_AT_ONCE = 2;

type OnReport = (report: PackReport) => Promise<void>;

/** Verifies all copies of packs, each once, and counts packs in the progress. */
export class PackCheck {
  readonly #caller: Caller;
  readonly #packs: Repository['packs'];
  readonly #verifier: PackVerifier;
  readonly #packsAtOnce: number;
  readonly #readsData: (pack: PackContents) => boolean;
  readonly #onReport: OnReport | undefined;
  readonly #reports = new Map<string, PackReport>();

  /** `listed`: the sizes of packs by id, as they were listed. */
  constructor(
    caller: Caller,
    repository: Pick<Repository, 'packs' | 'packVerifier' | 'work'>,
    listed: ReadonlyMap<string, number>,
    readsData: (pack: PackContents) => boolean,
    onReport?: OnReport,
  ) {
    this.#caller = caller;
    this.#packs = repository.packs;
    this.#packsAtOnce = Math.min(PACKS_AT_ONCE, repository.work.atOnce);
    this.#verifier = repository.packVerifier(listed);
    this.#readsData = readsData;
    this.#onReport = onReport;
  }

  /** Verifies those of the packs that were not verified yet. Returns the reports on all of them. */
  async verify(packs: readonly PackContents[]): Promise<PackReport[]> {
    const pacer = new Pacer(this.#caller);
    const { progress } = this.#caller;
    const fresh = packs.filter(({ id }) => !this.#reports.has(id));
    if (progress !== undefined) {
      progress.unit = 'pack';
      progress.filesTotal = progress.filesDone + fresh.length;
      const bytesToRead = fresh.filter(this.#readsData).reduce((total, { sizeBytes }) => total + sizeBytes, 0);
      progress.bytesTotal = progress.bytesDone + bytesToRead;
    }
    await mapConcurrently(fresh, this.#packsAtOnce, async (pack) => {
      await pacer.pause();
      const report = await this.#verifyCopies(pack);
      this.#reports.set(pack.id, report);
      await this.#onReport?.(report);
      if (progress === undefined) return;
      progress.filesDone += 1;
      progress.bytesDone += report.bytesRead;
    });
    return packs.map(({ id }) => this.#reports.get(id)!);
  }

  async #verifyCopies(pack: PackContents): Promise<PackReport> {
    const verifier = this.#verifier;
    const readsData = this.#readsData(pack);
    const copyIds = await this.#packs.copyIdsOf(pack.id);
    if (copyIds.length > 0) return await verifier.verifyCopies(pack, copyIds, readsData);
    return readsData ? await verifier.verifyData(pack) : await verifier.verifyStructure(pack);
  }
}

/** Whether all copies were read, and each is sound. */
export function wasReadSound({ bytesRead, problems, damagedCopies = [] }: PackReport): boolean {
  return bytesRead > 0 && problems.length === 0 && damagedCopies.length === 0;
}
