import { renameSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { withRepository } from '../../../src/core/session/session.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { openDomainSource } from '../../../src/realm/lending/domain-source.ts';
import { lookUp } from '../../../src/realm/verbs/locate/look-up.ts';
import type { LookedUp } from '../../../src/realm/verbs/locate/look-up.ts';
import { connectRealm, readRealm } from '../../../src/realm/domains/realm.ts';
import { RealmAccess } from '../../../src/realm/domains/realm-access.ts';
import type { AgentServerOptions } from '../../../src/realm/agents/agent-server.ts';
import type { HeldPlane } from '../../../src/realm/planes/held-planes.ts';
import { isSamePlane } from '../../../src/realm/planes/plane-state.ts';
import { liveIdsOf, makeRealm } from '../../support/lending-pair.ts';
import type { Member, TestRealm } from '../../support/lending-pair.ts';
import { createPrng } from '../../support/prng.ts';
import type { Prng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { inSoak } from '../../support/soak.ts';
import { keepPlanes, withAgent, withFakeAgent } from '../../support/with-agent.ts';

/** Against a test that hangs. */
const DEADLINE_MS = 300_000;

interface Setting {
  readonly realm: TestRealm;
  readonly viewer: Member;
  readonly others: readonly [Member, Member];
}

async function makeSetting(): Promise<Setting> {
  const realm = await makeRealm('plain');
  return { realm, viewer: await realm.join('viewer'), others: [await realm.join('a'), await realm.join('b')] };
}

interface Observed {
  readonly found: readonly LookedUp[];
  readonly questions: number;
  /** Whether this process has read planes. */
  readonly hasReadPlanes: boolean;
}

async function lookUpFrom({ context }: Member, ids: readonly Uint8Array[]): Promise<Observed> {
  return await withRepository(context, 'read', async (repository) =>
    new RealmAccess(context, repository).with(async (domains) => {
      const opened = await repository.openState();
      const found = await lookUp(opened, domains, ids, { ask: 'maybe', deadlineMs: DEADLINE_MS });
      const hasReadPlanes = domains.all.some((domain) => domains.isCurrent(domain));
      return { found, questions: domains.questionCount, hasReadPlanes };
    }),
  );
}

/** What must be the same however the planes are asked: a place of a chunk that is live is always found. */
function answersOf(found: readonly LookedUp[]): unknown {
  return found.map(({ own, elsewhere, verdict, unanswered }) => {
    const live = elsewhere.filter(({ place }) => place.state === 'live');
    return { own, verdict, live: new Map(live.map(({ domain, place }) => [domain.id, place])), unanswered };
  });
}

test('a look-up asks the planes of the own agent, and reads none itself', async () => {
  const { realm, viewer, others } = await makeSetting();
  const [a, b] = others;
  await a.backUp(realm.files(10, 1));
  await b.backUp(realm.files(10, 2));
  const ids = await liveIdsOf(a);
  const alone = await lookUpFrom(viewer, ids);
  expect(alone.hasReadPlanes).toBe(true);
  const { result, requests } = await withAgent(viewer, async () => {
    const away = join(realm.coordinator, 'planes');
    renameSync(away, `${away}-away`);
    const observed = await lookUpFrom(viewer, ids);
    renameSync(`${away}-away`, away);
    return observed;
  });
  expect(requests).toBe(1);
  expect(result.hasReadPlanes).toBe(false);
  expect(answersOf(result.found)).toEqual(answersOf(alone.found));
  expect(result.questions).toBe(alone.questions);
  // Most chunks are only in one of the two.
  expect(result.questions).toBeLessThan(1.5 * ids.length);
});

test('chunks of other domains are fetched with the planes of the own agent', async () => {
  const { realm, viewer, others } = await makeSetting();
  await others[0].backUp(realm.files(3, 1));
  const [id] = await liveIdsOf(others[0]);
  const { requests } = await withAgent(viewer, async () => {
    const source = await openDomainSource(viewer.context);
    expect((await source.fetch(id!, 'data'))?.from).toBe('a');
    await source.close();
  });
  expect(requests).toBe(1);
});

/** What claims to be the own agent. `isUsed`: its answer is accepted, so no planes are read. */
interface Impostor {
  readonly isUsed: boolean;
  readonly options: (
    now: (ids: Uint8Array) => readonly HeldPlane[],
    before: (ids: Uint8Array) => readonly HeldPlane[],
  ) => Partial<AgentServerOptions>;
}

function changing(change: (held: HeldPlane) => HeldPlane): Impostor['options'] {
  return (now) => ({ askPlanes: (ids) => now(ids).map(change) });
}

let oldCount = 0;

const IMPOSTORS: Readonly<Record<string, Impostor>> = {
  'is up to date': { isUsed: true, options: (now) => ({ askPlanes: now }) },
  'has old planes': { isUsed: true, options: (_now, before) => ({ askPlanes: before }) },
  'has no planes': { isUsed: true, options: () => ({ askPlanes: () => [] }) },
  'says no of old planes': {
    isUsed: true,
    options: (now, before) => ({ askPlanes: (ids) => before(ids).map((held) => zerosIfOld(held, now(ids))) }),
  },
  'says no for another checksum': {
    isUsed: true,
    options: changing((held) => ({
      ...held,
      state: { ...held.state, checksum: '0'.repeat(64) },
      maybe: zeros(held),
    })),
  },
  'does not say enough': {
    isUsed: false,
    options: changing((held) => ({ ...held, maybe: held.maybe.subarray(1) })),
  },
  'says no state': {
    isUsed: false,
    options: changing((held) => ({ ...held, state: { ...held.state, sequence: -1 } })),
  },
  'does not know the question': { isUsed: false, options: () => ({}) },
  fails: {
    isUsed: false,
    options: () => ({
      askPlanes: () => {
        throw new Error('on purpose');
      },
    }),
  },
  'is busy': { isUsed: false, options: (now) => ({ askPlanes: now, requestsMax: 0 }) },
  'accepts another token': { isUsed: false, options: (now) => ({ askPlanes: now, token: 'ab'.repeat(32) }) },
};

function zerosIfOld(held: HeldPlane, now: readonly HeldPlane[]): HeldPlane {
  const isNew = now.some(({ domainId, state }) => domainId === held.domainId && isSamePlane(state, held.state));
  if (!isNew) oldCount += 1;
  return isNew ? held : { ...held, maybe: zeros(held) };
}

function zeros({ maybe }: HeldPlane): Uint8Array {
  return new Uint8Array(maybe.length);
}

/** Backs up files that no member or some member has, or deletes a snapshot. `sources`: what was backed up before. */
async function changeSomething({ realm, viewer, others }: Setting, sources: string[], prng: Prng): Promise<void> {
  const member = prng.pick([viewer, ...others]);
  const snapshots = await member.snapshots();
  if (prng.int(4) === 0 && snapshots.length > 0)
    await deleteSnapshots(member.context, { selectors: [prng.pick(snapshots).id] });
  else if (prng.int(2) === 0) await member.backUp(prng.pick(sources));
  else {
    const source = realm.files(1 + prng.int(4), prng.int(2 ** 31), 3000);
    sources.push(source);
    await member.backUp(source);
  }
}

test.each(seedsOf(1, 10))('whatever the own agent says, the answers are those without it (seed %i)', async (seed) => {
  const setting = await makeSetting();
  const { viewer, others } = setting;
  const prng = createPrng(seed);
  const sources = [setting.realm.files(4, 1, 3000)];
  await others[0].backUp(sources[0]!);
  for (let round = 0; round < inSoak(6, 2); round += 1) {
    const before = await keepPlanes(viewer);
    for (let left = 1 + prng.int(3); left > 0; left -= 1) await changeSomething(setting, sources, prng);
    const now = await keepPlanes(viewer);
    const known = (await Promise.all([viewer, ...others].map(liveIdsOf))).flat();
    const ids = [...known, ...Array.from({ length: 20 }, () => prng.bytes(20))];
    const alone = await lookUpFrom(viewer, ids);
    expect(alone.hasReadPlanes).toBe(true);
    expect(alone.found.filter(({ verdict }) => verdict === 'found')).toHaveLength(known.length);
    for (const [name, { isUsed, options }] of Object.entries(IMPOSTORS)) {
      await withFakeAgent(viewer, options(now.ask, before.ask), async (server) => {
        const { found, hasReadPlanes } = await lookUpFrom(viewer, ids);
        expect(answersOf(found), `round ${round}: the agent ${name}`).toEqual(answersOf(alone.found));
        expect([server.requestCount, hasReadPlanes], name).toEqual([1, !isUsed]);
      });
    }
    await before.close();
    await now.close();
  }
  expect(oldCount).toBeGreaterThan(0);
});

test('an agent that lies about the newest planes makes no chunk absent', async () => {
  const { realm, viewer, others } = await makeSetting();
  await others[0].backUp(realm.files(5, 1));
  const now = await keepPlanes(viewer);
  const askPlanes: AgentServerOptions['askPlanes'] = (ids) =>
    now.ask(ids).map((held) => ({ ...held, maybe: zeros(held) }));
  const ids = await liveIdsOf(others[0]);
  await withFakeAgent(viewer, { askPlanes }, async (server) => {
    const { found, hasReadPlanes } = await lookUpFrom(viewer, ids);
    expect([server.requestCount, hasReadPlanes]).toEqual([1, false]);
    expect(found.filter(({ verdict }) => verdict !== 'found')).toEqual([]);
  });
  await now.close();
});

test('an agent that does not answer, or is gone, is waited for no longer than a moment', async () => {
  const { realm, viewer, others } = await makeSetting();
  await others[0].backUp(realm.files(5, 1));
  const ids = await liveIdsOf(others[0]);
  const alone = await lookUpFrom(viewer, ids);
  const joined = await withRepository(viewer.context, 'read', async (repository) => readRealm(repository));
  const connected = await connectRealm(joined);
  let connections = 0;
  let receivedBytes = 0;
  const silent = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined).on('data', (bytes) => (receivedBytes += bytes.length));
  });
  const path = join(realm.directory, 'silent.sock');
  await new Promise<void>((resolve) => silent.listen(path, resolve));
  await connected.records.announce(joined.domainId, { kind: 'socket', path, host: hostname() });
  const waited = await lookUpFrom(viewer, ids);
  // It was asked, and has left its end of the connection open.
  expect([connections, receivedBytes > 0, waited.hasReadPlanes]).toEqual([1, true, true]);
  expect(answersOf(waited.found)).toEqual(answersOf(alone.found));
  await new Promise((resolve) => silent.close(resolve));
  // Nobody listens there any more.
  const gone = await lookUpFrom(viewer, ids);
  expect([answersOf(gone.found), gone.hasReadPlanes]).toEqual([answersOf(alone.found), true]);
  await connected.coordinator.close();
});
