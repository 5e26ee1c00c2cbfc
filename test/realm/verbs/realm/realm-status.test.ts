import { expect, test } from 'vitest';

import { realmStatus } from '../../../../src/realm/verbs/realm/status.ts';
import type { HeldPlane } from '../../../../src/realm/planes/held-planes.ts';
import { makeRealm } from '../../../support/lending-pair.ts';
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
