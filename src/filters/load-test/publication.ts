import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CounterArray } from '../../core/ldm/counters.ts';
import type { FilterPlan } from '../../core/ldm/formulas.ts';
import { planeOf } from '../../core/ldm/plane.ts';
import { PlaneSet } from '../../core/ldm/planes.ts';
import { ID_BYTES, ID_WORDS, readIdWords, startOf, strideOf } from '../../core/ldm/positions.ts';
import { fillRandomIds, randomWords } from '../../core/ldm/random-ids.ts';
import { planPublication } from '../../realm/planes/plane-publisher.ts';
import type { PlaneState } from '../../realm/planes/plane-state.ts';
import { PlaneTracker } from '../../realm/planes/plane-tracker.ts';
import { SharedFiles } from '../../realm/coordination/shared-files.ts';
import { DirectoryCoordinator } from '../../realm/coordination/directory-coordinator.ts';
import { Pacer } from '../../core/util/pacer.ts';

const DOMAIN = '0'.repeat(64);

interface PublicationOptions {
  readonly seed: number;
  readonly plan: FilterPlan;
  /** Half of them are added in a night, and as many others removed. */
  readonly changes: number;
  readonly nights: number;
  readonly signal?: AbortSignal | undefined;
}

/** One publication, in milliseconds. */
export interface NightFigures {
  /** Positions that flipped, and the bytes of their file. */
  readonly flips: number;
  readonly bytes: number;
  /** From the changed counters to the plane. */
  readonly planeMs: number;
  /** Reads what was published before and finds the flips. */
  readonly planMs: number;
  /** Writes the file and the record, both durably. */
  readonly writeMs: number;
  /** Another domain reads both and brings its planes up to date. */
  readonly readMs: number;
}

/** What the publications of a domain cost. */
export interface PublicationFigures {
  readonly positions: number;
  readonly baseBytes: number;
  readonly nights: readonly NightFigures[];
}

/**
 * Measures the time from the counters of a commit until another domain has applied the flips to its planes, and the bytes
 * published. The files are written durably to a temporary directory. The time includes no notification by a coordinator.
 */
export async function measurePublication(options: PublicationOptions): Promise<PublicationFigures> {
  const directory = mkdtempSync(join(tmpdir(), 'ldm-publication-'));
  try {
    const domain = new ChangingDomain(options);
    await domain.addAll(new Pacer(options));
    const pair = new PublishingPair(directory);
    const { bytes: baseBytes } = await pair.publish(domain);
    const nights: NightFigures[] = [];
    for (let night = 0; night < options.nights; night++) {
      domain.change();
      nights.push(await pair.publish(domain));
      options.signal?.throwIfAborted();
    }
    return { positions: options.plan.positions, baseBytes, nights };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The counters of a domain, of which the oldest chunks go and new ones come. Chains do not matter for its plane. */
class ChangingDomain {
  readonly counters: CounterArray;
  readonly liveCount: number;
  readonly #changes: number;
  readonly #id: Uint32Array = new Uint32Array(ID_WORDS);
  readonly #added: () => number;
  readonly #removed: () => number;

  constructor({ plan, seed, changes }: PublicationOptions) {
    this.counters = new CounterArray(plan.positions, plan.hashes);
    this.liveCount = plan.capacity;
    this.#changes = changes;
    this.#added = randomWords(seed);
    this.#removed = randomWords(seed);
  }

  async addAll(pacer: Pacer): Promise<void> {
    for (let left = this.liveCount; left > 0; left--) {
      this.#next(this.#added, 'add');
      await pacer.pause();
    }
  }

  change(): void {
    const half = Math.floor(this.#changes / 2);
    for (let left = half; left > 0; left--) this.#next(this.#added, 'add');
    for (let left = half; left > 0; left--) this.#next(this.#removed, 'subtract');
  }

  #next(words: () => number, act: 'add' | 'subtract'): void {
    const bytes = new Uint8Array(ID_BYTES);
    fillRandomIds(bytes, words);
    readIdWords(bytes, 0, this.#id);
    const { positions } = this.counters;
    this.counters[act](startOf(this.#id, 0, positions), strideOf(this.#id, 0, positions));
  }
}

/** A domain that publishes in a directory, and another one that follows it. */
class PublishingPair {
  readonly #coordinator: DirectoryCoordinator;
  readonly #follower: PlaneTracker;
  readonly #planes = new PlaneSet();
  #version: number | undefined;

  constructor(directory: string) {
    this.#coordinator = new DirectoryCoordinator(directory, { files: new SharedFiles(directory) });
    this.#follower = new PlaneTracker(DOMAIN, this.#files());
  }

  async publish({ counters, liveCount }: ChangingDomain): Promise<NightFigures> {
    const { positions, hashes } = counters;
    const times = [performance.now()];
    const lap = (): void => void times.push(performance.now());
    const plane = planeOf(counters);
    lap();
    const planned = await planPublication(
      DOMAIN,
      { positions, hashes, liveCount, plane },
      { state: await this.#readState(), files: this.#files() },
    );
    lap();
    // In a tiny filter, changes may flip nothing.
    const file = planned?.file;
    if (file !== undefined) await this.#coordinator.planes.writeNew(DOMAIN, file.name, file.bytes);
    if (planned !== undefined) await this.#writeState(planned.state);
    lap();
    const flips = await this.#follow();
    lap();
    const [planeMs, planMs, writeMs, readMs] = times.slice(1).map((time, index) => time - times[index]!);
    return {
      flips,
      bytes: file?.bytes.length ?? 0,
      planeMs: planeMs!,
      planMs: planMs!,
      writeMs: writeMs!,
      readMs: readMs!,
    };
  }

  async #follow(): Promise<number> {
    const change = await this.#follower.update((await this.#readState())!);
    if (change.kind === 'replaced') this.#planes.set(DOMAIN, this.#follower.plane!);
    if (change.kind !== 'flips') return 0;
    for (const flips of change.flips) this.#planes.applyFlips(DOMAIN, flips);
    return change.flips.reduce((sum, flips) => sum + flips.length, 0);
  }

  async #writeState(state: PlaneState): Promise<void> {
    const record = Buffer.from(JSON.stringify(state));
    this.#version = await this.#coordinator.write('state', DOMAIN, record, this.#version);
  }

  async #readState(): Promise<PlaneState | undefined> {
    const record = await this.#coordinator.read('state', DOMAIN);
    return record === undefined ? undefined : (JSON.parse(Buffer.from(record.bytes).toString()) as PlaneState);
  }

  #files(): ConstructorParameters<typeof PlaneTracker>[1] {
    const { planes } = this.#coordinator;
    return {
      names: async () => planes.names(DOMAIN),
      read: async (name, limitBytes) => planes.read(DOMAIN, name, limitBytes),
    };
  }
}
