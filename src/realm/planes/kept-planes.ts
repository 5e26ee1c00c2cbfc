import { CorruptDataError } from '../../core/errors.ts';
import { PlaneSet } from '../../core/ldm/planes.ts';
import { ID_BYTES } from '../../core/ldm/positions.ts';
import type { AnswerCache } from '../agents/answer-cache.ts';
import { CachedPlanes } from './cached-planes.ts';
import type { HeldPlane } from './held-planes.ts';
import type { PlaneFiles } from '../agents/peer.ts';
import { isSamePlane } from './plane-state.ts';
import type { PlaneState } from './plane-state.ts';
import { PlaneTracker } from './plane-tracker.ts';

interface Followed {
  readonly files: CachedPlanes;
  readonly tracker: PlaneTracker;
}

/** The planes of other domains, in the memory of this process. */
export class KeptPlanes {
  readonly #filesOf: (domainId: string) => PlaneFiles;
  readonly #openCache: () => Promise<AnswerCache | undefined>;
  readonly #followed = new Map<string, Followed>();
  readonly #set = new PlaneSet();
  /** Of what is in the set. A tracker may know a newer plane for a moment, before it is in the set. */
  readonly #states = new Map<string, PlaneState>();

  constructor(filesOf: (domainId: string) => PlaneFiles, openCache: () => Promise<AnswerCache | undefined>) {
    this.#filesOf = filesOf;
    this.#openCache = openCache;
  }

  /**
   * Brings the plane of a domain to what it has published. If that cannot be loaded, the last one stays. Only one call for
   * a domain may run at a time.
   * @param published - undefined: it is not known
   */
  async load(domainId: string, published: PlaneState | undefined): Promise<void> {
    const { files, tracker } = this.#follow(domainId);
    if (published === undefined) {
      tracker.distrust(new CorruptDataError('there is no record of what the domain has published'));
      return;
    }
    files.follow(published);
    let change = await tracker.update(published);
    if (!tracker.isCurrent && files.wasUsed) {
      // A domain that has left and joined again may use names once more.
      files.follow(published, true);
      change = await tracker.update(published);
    }
    if (change.kind === 'replaced') this.#set.set(domainId, tracker.plane!);
    if (change.kind === 'flips') for (const flips of change.flips) this.#set.applyFlips(domainId, flips);
    if (tracker.state !== undefined) this.#states.set(domainId, tracker.state);
  }

  /** Drops the planes of all other domains. */
  retain(domainIds: ReadonlySet<string>): void {
    for (const id of this.#followed.keys()) {
      if (domainIds.has(id)) continue;
      this.#followed.delete(id);
      this.#states.delete(id);
      this.#set.remove(id);
    }
  }

  /** Whether there is the plane of this state. */
  isCurrent(domainId: string, published: PlaneState | undefined): boolean {
    const state = this.#states.get(domainId);
    return state !== undefined && published !== undefined && isSamePlane(state, published);
  }

  /** Why there is no plane of the state of the last `load`; undefined also if there was none. */
  problemOf(domainId: string): string | undefined {
    return this.#followed.get(domainId)?.tracker.problem?.message;
  }

  /** Returns what each plane says about ids of 20 bytes, one after another in `ids`. */
  ask(ids: Uint8Array): HeldPlane[] {
    const maskBytes = Math.ceil(ids.length / ID_BYTES / 8);
    const masks = new Map([...this.#states.keys()].map((id) => [id, new Uint8Array(maskBytes)]));
    for (let offset = 0, index = 0; offset < ids.length; offset += ID_BYTES, index += 1) {
      for (const id of this.#set.candidates(ids, offset)) masks.get(id)![index >>> 3]! |= 1 << (index & 7);
    }
    return [...this.#states].map(([domainId, state]) => ({ domainId, state, maybe: masks.get(domainId)! }));
  }

  #follow(domainId: string): Followed {
    const known = this.#followed.get(domainId);
    if (known !== undefined) return known;
    const files = new CachedPlanes(domainId, this.#filesOf(domainId), this.#openCache);
    const followed = { files, tracker: new PlaneTracker(domainId, files) };
    this.#followed.set(domainId, followed);
    return followed;
  }
}
