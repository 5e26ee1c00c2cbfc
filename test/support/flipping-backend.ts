import type { FileSystemBackend } from '../../src/core/backend/file-system-backend.ts';
import { FaultyBackend } from './faulty-backend.ts';
import type { Prng } from './prng.ts';

/** A machine with bad memory: now and then what is read has one wrong bit. Nothing on the disk is wrong. */
export class FlippingBackend extends FaultyBackend {
  flipCount = 0;
  readonly #prng: Prng;
  /** One in so many reads is wrong. */
  readonly #oneIn: number;

  constructor(inner: FileSystemBackend, prng: Prng, oneIn: number) {
    super(inner);
    this.#prng = prng;
    this.#oneIn = oneIn;
  }

  override async read(name: string): Promise<Buffer> {
    const bytes = await super.read(name);
    this.#spoil(bytes);
    return bytes;
  }

  override async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    await super.readRange(name, offset, target);
    this.#spoil(target);
  }

  #spoil(bytes: Uint8Array): void {
    if (bytes.length === 0 || this.#prng.int(this.#oneIn) > 0) return;
    this.flipCount += 1;
    bytes[this.#prng.int(bytes.length)]! ^= 1 << this.#prng.int(8);
  }
}
