import type { PackContents } from '../format/pack.ts';
import type { Verify } from '../backend/backend.ts';
import { needing } from './needed-files.ts';
import type { NeededFiles } from './needed-files.ts';

/** How to look whether packs that were just written still exist. */
export interface PackLooks {
  /** Throws if one of them does not. */
  assertPacksPresent(packs: readonly PackContents[]): Promise<void>;
  /** What that looks for. */
  needsOfPacks(packs: readonly PackContents[]): NeededFiles | undefined;
}

/** Collects new packs that no segment lists yet, and publishes segments that list them. */
export class SegmentWriter {
  readonly #publish: (packs: readonly PackContents[], verify: Verify) => Promise<unknown>;
  readonly #verifyLock: Verify;
  readonly #looks: PackLooks;
  readonly #segmentBytes: number;
  #unindexed: PackContents[] = [];
  #unindexedBytes = 0;
  /** How many segments are being published, or could not be. */
  #undoneCount = 0;

  constructor(options: {
    readonly publish: (packs: readonly PackContents[], verify: Verify) => Promise<unknown>;
    readonly verifyLock: Verify;
    readonly looks: PackLooks;
    /** A segment is written once the packs that it lists reach this size. */
    readonly segmentBytes: number;
  }) {
    this.#publish = options.publish;
    this.#verifyLock = options.verifyLock;
    this.#looks = options.looks;
    this.#segmentBytes = options.segmentBytes;
  }

  /** Adds a published pack. */
  add(pack: PackContents): void {
    this.#unindexed.push(pack);
    this.#unindexedBytes += pack.sizeBytes;
  }

  /** Whether all packs are in segments that are durable. */
  get isDone(): boolean {
    return this.#unindexed.length === 0 && this.#undoneCount === 0;
  }

  /** If it returns a promise, a segment is being published, and the caller must wait for it. */
  flushIfLarge(): Promise<void> | undefined {
    return this.#unindexedBytes < this.#segmentBytes ? undefined : this.flush();
  }

  /** Publishes a segment that lists all packs added so far. */
  async flush(): Promise<void> {
    const packs = [...this.#unindexed];
    if (packs.length === 0) return;
    // Others may have been added meanwhile.
    const indexed = new Set(packs);
    this.#unindexed = this.#unindexed.filter((pack) => !indexed.has(pack));
    this.#unindexedBytes = this.#unindexed.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
    // Another process may have removed our lock and these packs; a segment must not list missing packs.
    const verify = async (): Promise<void> =>
      void (await Promise.all([this.#verifyLock(), this.#looks.assertPacksPresent(packs)]));
    this.#undoneCount += 1;
    await this.#publish(
      packs,
      needing(this.#verifyLock, verify, () => this.#looks.needsOfPacks(packs)),
    );
    this.#undoneCount -= 1;
  }
}
