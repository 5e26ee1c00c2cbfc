import { describe, expect, it } from 'vitest';
import { PeerError } from '../../../src/realm/coordination/realm-errors.ts';
import { decodePlaneDelta, encodePlaneDelta, planeChecksum } from '../../../src/realm/formats/plane-file.ts';
import { applyFlips } from '../../../src/core/ldm/plane.ts';
import type { PlaneFiles } from '../../../src/realm/agents/peer.ts';
import type { PlaneState } from '../../../src/realm/planes/plane-state.ts';
import { PlaneTracker } from '../../../src/realm/planes/plane-tracker.ts';
import { createPrng, type Prng } from '../../support/prng.ts';
import { DOMAIN, MemoryPlaneFiles, PublishingDomain } from './plane-support.ts';
import { seedsOf } from '../../support/seeds.ts';

const SEEDS = seedsOf(8, 40);
const FAULTS = ['lost', 'torn', 'flipped', 'swapped', 'hidden', 'repeated', 'unreachable'] as const;
type Fault = (typeof FAULTS)[number];

/** The files of a domain as a reader sees them that has bad luck. */
class FaultyFiles implements PlaneFiles {
  readonly fired: Map<Fault, number> = new Map();
  /** Of 100 accesses, how many fail. */
  percent = 0;
  readonly #files: MemoryPlaneFiles;
  readonly #prng: Prng;

  constructor(files: MemoryPlaneFiles, prng: Prng) {
    this.#files = files;
    this.#prng = prng;
  }

  async names(): Promise<string[]> {
    const names = await this.#files.names();
    // The order of names means nothing.
    names.sort(() => this.#prng.int(3) - 1);
    if (names.length > 0 && this.#strikes('hidden')) names.splice(this.#prng.int(names.length), 1);
    if (names.length > 0 && this.#strikes('repeated')) names.push(this.#prng.pick(names));
    return names;
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    const bytes = await this.#files.read(name);
    if (this.#strikes('unreachable')) throw new PeerError('nobody answers', { kind: 'unreachable' });
    if (bytes === undefined || this.#strikes('lost')) return undefined;
    if (this.#strikes('torn')) return bytes.subarray(0, this.#prng.int(bytes.length));
    if (this.#strikes('swapped')) return this.#files.read(this.#prng.pick(await this.#files.names()));
    if (!this.#strikes('flipped')) return bytes;
    const damaged = Uint8Array.from(bytes);
    damaged[this.#prng.int(damaged.length)]! ^= 1 << this.#prng.int(8);
    return damaged;
  }

  #strikes(fault: Fault): boolean {
    if (this.#prng.int(100) >= this.percent) return false;
    this.fired.set(fault, (this.fired.get(fault) ?? 0) + 1);
    return true;
  }
}

describe('PlaneTracker', () => {
  it(`is current only with the plane of the state, whatever happens to files (seeds ${SEEDS.join(', ')})`, async () => {
    const seen = { current: 0, stale: 0, flips: 0, replaced: 0, none: 0 };
    const fired = new Map<Fault, number>();
    for (const seed of SEEDS) {
      const prng = createPrng(seed);
      const domain = new PublishingDomain(seed, 5003);
      const files = new FaultyFiles(domain.files, prng);
      const tracker = new PlaneTracker(DOMAIN, files);
      // What a holder of a copy has, if it applies the changes that it is told.
      let copy: Uint8Array = new Uint8Array(0);
      for (let step = 0; step < 120; step++) {
        await commit(prng, domain);
        files.percent = prng.pick([0, 5, 20]);
        const change = await tracker.update(domain.state!);
        seen[change.kind]++;
        if (change.kind === 'replaced') copy = Uint8Array.from(tracker.plane!.plane);
        else if (change.kind === 'flips') for (const flips of change.flips) applyFlips(copy, flips);
        expect(Buffer.from(copy).equals(tracker.plane?.plane ?? new Uint8Array(0)), `seed ${seed}, step ${step}`).toBe(
          true,
        );
        seen[tracker.isCurrent ? 'current' : 'stale']++;
        expect(tracker.problem === undefined).toBe(tracker.isCurrent);
        if (tracker.isCurrent) expectPlaneOf(tracker, domain.state!, domain.published, `seed ${seed}, step ${step}`);
        else expect(files.percent, `seed ${seed}, step ${step}`).toBeGreaterThan(0);
      }
      for (const [fault, count] of files.fired) fired.set(fault, (fired.get(fault) ?? 0) + count);
    }
    expect([...fired.keys()].sort()).toEqual([...FAULTS].sort());
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(40);
  });

  it('is stale while a delta stays lost, and current again with the next base', async () => {
    const domain = new PublishingDomain(7, 5003);
    const tracker = new PlaneTracker(DOMAIN, domain.files);
    await domain.publish();
    expect(await tracker.update(domain.state!)).toEqual({ kind: 'replaced' });
    domain.add(3);
    const lost = await domain.publish();
    domain.files.stored.delete(lost!.file!.name);
    const before = Uint8Array.from(tracker.plane!.plane);
    expect(await tracker.update(domain.state!)).toEqual({ kind: 'none' });
    expect([tracker.isCurrent, tracker.problem?.code]).toEqual([false, 'CORRUPT_DATA']);
    expect(tracker.plane!.plane).toEqual(before);
    // The domain notices that its files do not lead to its state.
    domain.add(1);
    await domain.publish();
    expect(domain.state!.generation).toBe(2);
    expect(await tracker.update(domain.state!)).toEqual({ kind: 'replaced' });
    expect([tracker.isCurrent, tracker.problem]).toEqual([true, undefined]);
    expect(tracker.plane!.plane).toEqual(domain.own.plane);
  });

  it('does not keep what a delta with a wrong plane leads to, even if the delta is well formed', async () => {
    const domain = new PublishingDomain(7, 5003);
    const tracker = new PlaneTracker(DOMAIN, domain.files);
    await domain.publish();
    await tracker.update(domain.state!);
    const before = Uint8Array.from(tracker.plane!.plane);
    domain.add(3);
    const { name, bytes } = (await domain.publish())!.file!;
    const delta = decodePlaneDelta(bytes);
    const forged = encodePlaneDelta({ ...delta, flips: delta.flips.subarray(1) });
    domain.files.stored.set(name, forged);
    await tracker.update(domain.state!);
    expect([tracker.isCurrent, tracker.problem?.message]).toEqual([false, expect.stringContaining('do not lead')]);
    expect(tracker.plane!.plane).toEqual(before);
    domain.files.stored.set(name, bytes);
    expect((await tracker.update(domain.state!)).kind).toBe('flips');
    expect(tracker.isCurrent).toBe(true);
  });

  it('takes no file of another domain, and no plane of another m', async () => {
    const domain = new PublishingDomain(7, 5003);
    await domain.publish();
    const other = new PlaneTracker('ee'.repeat(32), domain.files);
    await other.update(domain.state!);
    expect([other.isCurrent, other.plane]).toEqual([false, undefined]);
    const tracker = new PlaneTracker(DOMAIN, domain.files);
    await tracker.update({ ...domain.state!, positions: 5002 });
    expect([tracker.isCurrent, tracker.problem?.code]).toEqual([false, 'CORRUPT_DATA']);
  });

  it('is not current once it is told that the state cannot be read', async () => {
    const domain = new PublishingDomain(7, 5003);
    await domain.publish();
    const tracker = new PlaneTracker(DOMAIN, domain.files);
    await tracker.update(domain.state!);
    const problem = new PeerError('no coordinator', { kind: 'unreachable' });
    tracker.distrust(problem);
    expect([tracker.isCurrent, tracker.problem]).toEqual([false, problem]);
    expect(tracker.plane).toBeDefined();
    await tracker.update(domain.state!);
    expect(tracker.isCurrent).toBe(true);
  });
});

async function commit(prng: Prng, domain: PublishingDomain): Promise<void> {
  const action = prng.int(20);
  if (action === 0) domain.grow(prng.pick([5003, 6007, 9001]));
  else if (action < 12) domain.add(prng.int(12));
  else domain.remove(prng.int(12));
  await domain.publish(prng.pick([undefined, undefined, undefined, 'file', 'state']));
  if (domain.state === undefined) await domain.publish();
}

function expectPlaneOf(tracker: PlaneTracker, state: PlaneState, plane: Uint8Array, what: string): void {
  expect(tracker.state, what).toEqual(state);
  expect(Buffer.from(tracker.plane!.plane).equals(plane), what).toBe(true);
  expect(planeChecksum(plane), what).toBe(state.checksum);
}
