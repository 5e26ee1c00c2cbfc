import type { PackContents } from '../../format/pack.ts';
import type { PackReport, PackVerifier } from '../../store/pack-verifier.ts';
import { mapConcurrently } from '../../util/map-concurrently.ts';
import { Pacer } from '../context.ts';
import type { OperationContext } from '../context.ts';

/** Packs verified at a time: one is read while another is hashed. */
const PACKS_AT_ONCE = 2;

/** Verifies packs, each once, and counts them in the progress. */
export class PackCheck {
  readonly #context: OperationContext;
  readonly #verifier: PackVerifier;
  readonly #readsData: (pack: PackContents) => boolean;
  readonly #reports = new Map<string, PackReport>();

  constructor(context: OperationContext, verifier: PackVerifier, readsData: (pack: PackContents) => boolean) {
    this.#context = context;
    this.#verifier = verifier;
    this.#readsData = readsData;
  }

  /** Verifies those of the packs that were not verified yet. Returns the reports on all of them. */
  async verify(packs: readonly PackContents[]): Promise<PackReport[]> {
    const pacer = new Pacer(this.#context);
    const { progress } = this.#context;
    const fresh = packs.filter(({ id }) => !this.#reports.has(id));
    if (progress !== undefined) {
      progress.unit = 'pack';
      progress.filesTotal = progress.filesDone + fresh.length;
      const bytesToRead = fresh.filter(this.#readsData).reduce((total, { sizeBytes }) => total + sizeBytes, 0);
      progress.bytesTotal = progress.bytesDone + bytesToRead;
    }
    await mapConcurrently(fresh, PACKS_AT_ONCE, async (pack) => {
      await pacer.pause();
      const verifier = this.#verifier;
      const report = this.#readsData(pack) ? await verifier.verifyData(pack) : await verifier.verifyStructure(pack);
      this.#reports.set(pack.id, report);
      if (progress === undefined) return;
      progress.filesDone += 1;
      progress.bytesDone += report.bytesRead;
    });
    return packs.map(({ id }) => this.#reports.get(id)!);
  }
}
