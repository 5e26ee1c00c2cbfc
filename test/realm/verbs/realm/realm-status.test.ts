import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { realmStatus } from '../../../../src/realm/verbs/realm/status.ts';
import { joinRealm } from '../../../../src/realm/verbs/realm/join.ts';
import { DirectoryCoordinator } from '../../../../src/realm/coordination/directory-coordinator.ts';
import { planeDeltaName } from '../../../../src/realm/planes/plane-names.ts';
import type { HeldPlane } from '../../../../src/realm/planes/held-planes.ts';
import { freePort } from '../../../support/free-port.ts';
import { makeRealm } from '../../../support/lending-pair.ts';
import type { Member, TestRealm } from '../../../support/lending-pair.ts';
import { keepPlanes, withAgent, withFakeAgent } from '../../../support/with-agent.ts';

test('the status says how far the planes of the own agent are behind', async () => {
  const realm = await makeRealm('plain');
  const [viewer, a] = [await realm.join('viewer'), await realm.join('a'), await realm.join('b')];
  await a.backUp(realm.files(2, 1));
  const of = async (name: string): Promise<unknown> => {
    const { domains, hasAgentPlanes } = await realmStatus(viewer.context);
    const { behind, held, published, isCurrent } = domains.find((each) => each.name === name)!;
    return { behind, isCurrent, hasAgentPlanes, held: held?.sequence, published: published?.sequence };
  };
  const nothing = { behind: undefined, held: undefined };
  expect(await of('a')).toEqual({ ...nothing, isCurrent: true, hasAgentPlanes: false, published: 2 });
  const before = await keepPlanes(viewer);
  await a.backUp(realm.files(2, 2));
  await a.backUp(realm.files(2, 3));
  const known = { isCurrent: true, hasAgentPlanes: true, published: 4 };
  await withFakeAgent(viewer, { askPlanes: before.ask }, async () => {
    expect(await of('a')).toEqual({ ...known, behind: 2, held: 2 });
    expect(await of('b')).toEqual({ ...known, behind: 0, held: 1, published: 1 });
    expect(await of('viewer')).toEqual({ ...known, ...nothing, published: 1 });
  });
  await before.close();
  await withFakeAgent(viewer, { askPlanes: () => [] }, async () => {
    expect(await of('a')).toEqual({ ...known, ...nothing });
  });
  const another = (ids: Uint8Array): HeldPlane[] =>
    before.ask(ids).map((held) => ({ ...held, state: { ...held.state, sequence: 9 } }));
  await withFakeAgent(viewer, { askPlanes: another }, async () => {
    expect(await of('a')).toEqual({ ...known, behind: undefined, held: 9 });
  });
  await withAgent(viewer, async () => expect(await of('a')).toEqual({ ...known, behind: 0, held: 4 }));
});

describe('a plane that is under way', () => {
  interface Scene {
    readonly realm: TestRealm;
    readonly viewer: Member;
    readonly a: Member;
    readonly domainId: string;
    /** Where the plane files of `a` are. */
    readonly planes: string;
    readonly seen: (name?: string) => Promise<Record<string, unknown>>;
  }

  async function makeScene(): Promise<Scene> {
    const realm = await makeRealm('plain');
    const [viewer, a] = [await realm.join('viewer'), await realm.join('a')];
    await a.backUp(realm.files(2, 1));
    const find = async (name: string): Promise<Awaited<ReturnType<typeof realmStatus>>['domains'][number]> =>
      (await realmStatus(viewer.context)).domains.find((each) => each.name === name)!;
    const seen = async (name = 'a'): Promise<Record<string, unknown>> => {
      const { isUnderWay, isCurrent, published, planeProblem } = await find(name);
      return { isUnderWay, isCurrent, sequence: published?.sequence, hasProblem: planeProblem !== undefined };
    };
    const { domainId } = await find('a');
    return { realm, viewer, a, domainId, planes: join(realm.coordinator, 'planes', domainId), seen };
  }

  const CURRENT = { isUnderWay: false, isCurrent: true, sequence: 2, hasProblem: false };

  // What a publication leaves that ends before its file, or before its record, is complete.
  test.each(['', '.0123456789ab.tmp'])('is shown until the next publication (file%s)', async (ending) => {
    const { realm, a, planes, seen } = await makeScene();
    expect(await seen()).toEqual(CURRENT);
    const file = join(planes, `${planeDeltaName(1, 2, 3).replace('planes/', '')}${ending}`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, 'a part');
    expect(await seen()).toEqual({ ...CURRENT, isUnderWay: true });
    expect(await seen('viewer')).toMatchObject({ isUnderWay: false });
    await a.backUp(realm.files(2, 2));
    expect(await seen()).toEqual({ ...CURRENT, sequence: ending === '' ? 4 : 3 });
  });

  test('is told from one that was never published, and from one that is lost', async () => {
    const { realm, domainId, planes, seen } = await makeScene();
    rmSync(planes, { recursive: true });
    expect(await seen()).toEqual({ ...CURRENT, isCurrent: false, hasProblem: true });
    await new DirectoryCoordinator(realm.coordinator).remove('state', domainId);
    const nothing = { isCurrent: false, sequence: undefined, hasProblem: false };
    expect(await seen()).toEqual({ ...nothing, isUnderWay: false });
    mkdirSync(join(planes, '000000000001'), { recursive: true });
    writeFileSync(join(planes, '000000000001', 'base-000000000001'), 'a part');
    expect(await seen()).toEqual({ ...nothing, isUnderWay: true });
  });
});

test('the status says why the cache is not used, without its password', async () => {
  const realm = await makeRealm('plain');
  const viewer = await realm.join('viewer');
  expect((await realmStatus(viewer.context)).cache).toBeUndefined();
  const address = `127.0.0.1:${await freePort()}`;
  await joinRealm(viewer.context, { coordinator: realm.coordinator, cache: `redis://me:secret@${address}` });
  const { cache } = await realmStatus(viewer.context);
  expect(cache).toEqual({ place: `redis://me:***@${address}`, problem: expect.any(String) });
  expect(JSON.stringify(cache)).not.toContain('secret');
});
