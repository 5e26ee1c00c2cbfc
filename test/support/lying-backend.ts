import { CorruptDataError } from '../../src/core/errors.ts';
import type { FileSystemBackend } from '../../src/core/backend/file-system-backend.ts';
import { FaultyBackend } from './faulty-backend.ts';
import type { Prng } from './prng.ts';

/** What a bad line does to an answer: one bit is wrong, or the end is missing. */
export type Lie = 'flip' | 'cut';

export interface LyingOptions {
  readonly prng: Prng;
  readonly lie: Lie;
  /** How many of a hundred answers are wrong. */
  readonly percent: number;
  /** Default: every file. */
  readonly isAbout?: (name: string) => boolean;
}

/** A place that stores everything well, and answers wrongly now and then, each time in another way. */
export class LyingBackend extends FaultyBackend {
  lieCount = 0;
  readonly #lying: LyingOptions;

  constructor(inner: FileSystemBackend, lying: LyingOptions) {
    super(inner);
    this.#lying = lying;
  }

  override async read(name: string): Promise<Buffer> {
    const bytes = await super.read(name);
    return this.#lies(name, bytes.length) ? this.#spoiled(bytes) : bytes;
  }

  override async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    await super.readRange(name, offset, target);
    if (!this.#lies(name, target.length)) return;
    const spoiled = this.#spoiled(target);
    target.fill(0).set(spoiled);
    if (spoiled.length < target.length) throw new CorruptDataError(`${name} ends at byte ${offset + spoiled.length}`);
  }

  #lies(name: string, length: number): boolean {
    const { prng, percent, isAbout = () => true } = this.#lying;
    if (length === 0 || !isAbout(name) || prng.int(100) >= percent) return false;
    this.lieCount += 1;
    return true;
  }

  #spoiled(bytes: Uint8Array): Buffer {
    const { prng, lie } = this.#lying;
    const spoiled = Buffer.from(bytes);
    if (lie === 'cut') return spoiled.subarray(0, prng.int(bytes.length));
    spoiled[prng.int(bytes.length)]! ^= 1 << prng.int(8);
    return spoiled;
  }
}
