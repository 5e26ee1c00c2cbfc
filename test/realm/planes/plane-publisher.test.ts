import { describe, expect, it } from 'vitest';
import { decodePlaneBase, decodePlaneDelta } from '../../../src/realm/formats/plane-file.ts';
import { parsePlaneFileName, planeBaseName, planeDeltaName } from '../../../src/realm/planes/plane-names.ts';
import { DELTAS_MAX } from '../../../src/realm/planes/plane-publisher.ts';
import { PlaneTracker } from '../../../src/realm/planes/plane-tracker.ts';
import { DOMAIN, PublishingDomain } from './plane-support.ts';

const SEED = 99;

function nameAfter(publication: Awaited<ReturnType<PublishingDomain['publish']>>): string | undefined {
  return publication?.file?.name;
}

describe('a domain publishes', () => {
  it('a base first, then deltas, and nothing if nothing has changed', async () => {
    const domain = new PublishingDomain(SEED, 20_011);
    domain.add(100);
    expect(nameAfter(await domain.publish())).toBe(planeBaseName(1, 1));
    expect(await domain.publish()).toBeUndefined();
    domain.add(5);
    const second = await domain.publish();
    expect(nameAfter(second)).toBe(planeDeltaName(1, 1, 2));
    expect(second!.state).toMatchObject({ generation: 1, sequence: 2, liveCount: 105 });
    const delta = decodePlaneDelta(second!.file!.bytes);
    expect(delta).toMatchObject({ domainId: DOMAIN, liveCount: 105, checksum: second!.state.checksum });
    expect(delta.flips.length).toBeGreaterThan(10);
    domain.remove(5);
    expect(nameAfter(await domain.publish())).toBe(planeDeltaName(1, 2, 3));
  });

  it('only the number of chunks if the plane stays the same', async () => {
    const domain = new PublishingDomain(SEED, 101);
    // All positions are taken many times.
    domain.add(1000);
    await domain.publish();
    domain.add(1);
    const publication = await domain.publish();
    expect(publication).toMatchObject({ file: undefined, state: { sequence: 1, liveCount: 1001 } });
  });

  it('a new generation for another m, and removes the files of the one before', async () => {
    const domain = new PublishingDomain(SEED, 20_011);
    domain.add(100);
    await domain.publish();
    domain.add(1);
    await domain.publish();
    domain.grow(30_011);
    const publication = await domain.publish();
    expect(nameAfter(publication)).toBe(planeBaseName(2, 3));
    expect(publication!.obsolete).toEqual([planeBaseName(1, 1), planeDeltaName(1, 1, 2)]);
    expect([...domain.files.stored.keys()]).toEqual([planeBaseName(2, 3)]);
    expect(decodePlaneBase(publication!.file!.bytes)).toMatchObject({ positions: 30_011, liveCount: 101 });
  });

  it('a new generation when the deltas together are a quarter of a base, or one alone would be', async () => {
    const domain = new PublishingDomain(SEED, 20_011);
    await domain.publish();
    let deltaBytes = 0;
    for (;;) {
      domain.add(20);
      const { file, state } = (await domain.publish())!;
      if (state.generation === 2) break;
      deltaBytes += file!.bytes.length;
    }
    // A base has 2606 bytes.
    expect(deltaBytes).toBeGreaterThan(300);
    expect(deltaBytes).toBeLessThan(652);
    domain.add(2000);
    expect((await domain.publish())!.state.generation).toBe(3);
  });

  it(`a new generation after ${DELTAS_MAX} deltas`, async () => {
    const domain = new PublishingDomain(SEED, 2_000_003);
    await domain.publish();
    for (let count = 1; count <= DELTAS_MAX; count++) {
      domain.add(1);
      expect((await domain.publish())!.state).toMatchObject({ generation: 1, sequence: count + 1 });
    }
    domain.add(1);
    expect((await domain.publish())!.state).toMatchObject({ generation: 2 });
  });

  it('a new generation if its own files are lost', async () => {
    const domain = new PublishingDomain(SEED, 20_011);
    await domain.publish();
    domain.files.stored.clear();
    domain.add(1);
    expect(nameAfter(await domain.publish())).toBe(planeBaseName(2, 2));
  });

  it('under a new name after a process that ended between file and state', async () => {
    const domain = new PublishingDomain(SEED, 20_011);
    await domain.publish('file');
    domain.add(1);
    expect(nameAfter(await domain.publish())).toBe(planeBaseName(2, 2));
    expect([...domain.files.stored.keys()]).toEqual([planeBaseName(2, 2)]);
    domain.add(1);
    expect(nameAfter(await domain.publish('file'))).toBe(planeDeltaName(2, 2, 3));
    domain.add(1);
    expect(nameAfter(await domain.publish())).toBe(planeDeltaName(2, 2, 4));
    // The delta that was never published does not mislead a reader.
    const tracker = new PlaneTracker(DOMAIN, domain.files);
    await tracker.update(domain.state!);
    expect(tracker.isCurrent).toBe(true);
    expect(tracker.plane!.plane).toEqual(domain.own.plane);
  });

  it('and removes what a process left that ended before it could', async () => {
    const domain = new PublishingDomain(SEED, 20_011);
    await domain.publish();
    domain.grow(30_011);
    await domain.publish('state');
    expect(domain.files.stored.has(planeBaseName(1, 1))).toBe(true);
    domain.files.stored.set('planes/notes', new Uint8Array(1));
    domain.add(1);
    await domain.publish();
    expect([...domain.files.stored.keys()]).toEqual([planeBaseName(2, 2), 'planes/notes', planeDeltaName(2, 2, 3)]);
  });
});

describe('names of plane files', () => {
  it('say what they were made from, and sort by age', () => {
    expect(parsePlaneFileName(planeBaseName(3, 12))).toEqual({ kind: 'base', generation: 3, sequence: 12 });
    expect(parsePlaneFileName(planeDeltaName(3, 9, 10))).toEqual({ kind: 'delta', generation: 3, from: 9, to: 10 });
    expect([planeDeltaName(3, 10, 11), planeDeltaName(3, 9, 10)].sort()[0]).toBe(planeDeltaName(3, 9, 10));
  });

  it.each(['planes/1/base-1', `${planeBaseName(1, 1)}.tmp`, planeDeltaName(1, 2, 2), '../planes/x', 'planes/'])(
    '%s is not one',
    (name) => expect(parsePlaneFileName(name)).toBeUndefined(),
  );
});
