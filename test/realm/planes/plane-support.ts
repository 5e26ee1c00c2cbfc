import { CounterArray } from '../../../src/core/ldm/counters.ts';
import { planeOf } from '../../../src/core/ldm/plane.ts';
import type { PlaneFiles } from '../../../src/realm/agents/peer.ts';
import { planPublication, type OwnPlane, type Publication } from '../../../src/realm/planes/plane-publisher.ts';
import type { PlaneState } from '../../../src/realm/planes/plane-state.ts';
import { createPrng, type Prng } from '../../support/prng.ts';

export const DOMAIN: string = 'd0'.repeat(32);

/** Plane files in memory. */
export class MemoryPlaneFiles implements PlaneFiles {
  readonly stored: Map<string, Uint8Array> = new Map();

  async names(): Promise<string[]> {
    return [...this.stored.keys()];
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    const bytes = this.stored.get(name);
    // The tracker changes what it reads, and `slice` of a Buffer is a view.
    return bytes && new Uint8Array(bytes);
  }
}

/** A domain whose chunks come and go, and which publishes its plane. */
export class PublishingDomain {
  readonly files: MemoryPlaneFiles = new MemoryPlaneFiles();
  state: PlaneState | undefined;
  /** The plane of `state`. */
  published: Uint8Array = new Uint8Array(0);
  readonly #prng: Prng;
  readonly #chunks: (readonly [number, number])[] = [];
  #counters: CounterArray;

  constructor(seed: number, positions: number, hashes = 3) {
    this.#prng = createPrng(seed);
    this.#counters = new CounterArray(positions, hashes);
  }

  get own(): OwnPlane {
    const { positions, hashes } = this.#counters;
    return { positions, hashes, liveCount: this.#chunks.length, plane: planeOf(this.#counters) };
  }

  add(count: number): void {
    for (let left = count; left > 0; left--) {
      const { positions } = this.#counters;
      const chunk = [this.#prng.int(positions), 1 + this.#prng.int(positions - 1)] as const;
      this.#chunks.push(chunk);
      this.#counters.add(...chunk);
    }
  }

  remove(count: number): void {
    for (let left = Math.min(count, this.#chunks.length); left > 0; left--) {
      const [chunk] = this.#chunks.splice(this.#prng.int(this.#chunks.length), 1);
      this.#counters.subtract(...chunk!);
    }
  }

  /** Continues with another m; the chunks get other positions. */
  grow(positions: number): void {
    const count = this.#chunks.length;
    this.#chunks.length = 0;
    this.#counters = new CounterArray(positions, this.#counters.hashes);
    this.add(count);
  }

  /** @param failsAfter - the step after which the process ends */
  async publish(failsAfter?: 'file' | 'state'): Promise<Publication | undefined> {
    const publication = await planPublication(DOMAIN, this.own, { state: this.state, files: this.files });
    if (publication === undefined) return undefined;
    const { file, state, obsolete } = publication;
    if (file !== undefined) {
      if (this.files.stored.has(file.name)) throw new Error(`${file.name} is written twice`);
      this.files.stored.set(file.name, file.bytes);
    }
    if (failsAfter === 'file') return publication;
    this.state = state;
    this.published = this.own.plane;
    if (failsAfter === 'state') return publication;
    for (const name of obsolete) this.files.stored.delete(name);
    return publication;
  }
}
