import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import { placeHold } from '../../../src/realm/lending/holds.ts';
import { connectRealm, readRealm } from '../../../src/realm/domains/realm.ts';
import { RepositoryPeer } from '../../../src/realm/domains/repository-peer.ts';
import { AgentClient } from '../../../src/realm/agents/agent-client.ts';
import { AgentServer } from '../../../src/realm/agents/agent-server.ts';
import type { PeerHolds } from '../../../src/realm/agents/peer.ts';
import { TooManyHoldsError } from '../../../src/realm/coordination/realm-errors.ts';
import { fakeService } from '../../support/fake-agent-service.ts';
import { ALL, borrowedIds, holdKeysOf, kindsOf, makeSetting } from '../../support/lending-pair.ts';
import type { Member } from '../../support/lending-pair.ts';
import { socketPath, startAgent, statusOf } from '../agents/agent-support.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { check } from '../../../src/verbs/check/check.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { releaseHolds } from '../../../src/realm/lending/holds.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';

// A hold ends only for who has placed it. Whoever has the realm key file can ask, and knows everything that agents tell.

async function idOf({ context }: Member): Promise<string> {
  return await withRepository(context, 'read', async ({ config }) => config.repositoryId);
}

interface Asked {
  readonly holds: PeerHolds;
  readonly socket: string;
  readonly token: string;
}

/** What a member answers through its agent, as somebody with the realm key asks it. */
async function agentOf({ context }: Member): Promise<Asked> {
  const joined = await withRepository(context, 'read', async (repository) => readRealm(repository));
  const realm = await connectRealm(joined);
  const service = new RepositoryPeer(context, joined.domainId);
  const token = realm.keys.agentTokenOf(joined.domainId);
  const socket = join(temporaryDirectory(), 'agent.sock');
  const server = new AgentServer(service, { token, place: { kind: 'socket', path: socket }, host: hostname() });
  const endpoint = await server.listen();
  onTestFinished(async () => {
    await server.close();
    await realm.coordinator.close();
  });
  return { holds: new AgentClient(endpoint, { token }).holds, socket, token };
}

async function deleteBackups(member: Member): Promise<void> {
  const selectors = (await member.snapshots()).map(({ id }) => id);
  await deleteSnapshots(member.context, { selectors, reclaim: false });
  await compact(member.context, ALL);
}

test('a hold does not end for who knows its id, also through an agent, but for its secret', async () => {
  const { owner, holder, source } = await makeSetting();
  await holder.backUp(source, { reliesOn: 'owner' });
  const [hold] = await owner.holds();
  const { holdId, isOpen } = hold!.snapshot.hold!;
  expect(isOpen).toBe(false);
  const [secret] = holdKeysOf(holder);
  expect(secret).not.toBe(holdId);
  const asked = await agentOf(owner);
  const holderId = await idOf(holder);
  await asked.holds.release(holderId, [holdId, 'ef'.repeat(32)]);
  expect(await owner.holds()).toHaveLength(1);
  expect(await asked.holds.existing(holderId, ['ef'.repeat(32), holdId])).toEqual([holdId]);
  await asked.holds.release(holderId, [secret!]);
  expect(await owner.holds()).toEqual([]);
});

test('holds are not listed, and each agent has a token of its own', async () => {
  const { owner, holder, source } = await makeSetting();
  await holder.backUp(source, { reliesOn: 'owner' });
  const { socket, token } = await agentOf(owner);
  const path = `/v1/holds/${await idOf(holder)}`;
  expect(await statusOf(socket, { path }, [], token)).toBe(404);
  const other = await agentOf(holder);
  expect(await statusOf(socket, { path: '/v1/status' }, [], other.token)).toBe(401);
});

test('a hold of an earlier build ends with the last snapshot that needs it', async () => {
  const { owner, holder, source } = await makeSetting();
  await holder.backUp(source, { reliesOn: 'owner' });
  const [left] = await owner.holds();
  // As an earlier build has placed and noted it: its id is all there is.
  const [holdId, holderId] = ['cd'.repeat(32), await idOf(holder)];
  const open = { domainId: holderId, name: 'holder', holdId };
  const ids = (await borrowedIds(holder)).subarray(0, 20);
  await placeHold(owner.context, { ...open, isOpen: true }, ids);
  // Nobody gets another one: a false agent on the way could make a hold open, and end it.
  await expect((await agentOf(owner)).holds.place({ ...open, isOpen: true }, ids)).rejects.toThrow();
  writeFileSync(join(holder.place, 'holds', `${await idOf(owner)}-${holdId}`), `${holdId}\n`);
  expect((await owner.holds()).filter(({ snapshot }) => snapshot.hold!.isOpen)).toHaveLength(1);
  await compact(holder.context, ALL);
  expect(await owner.holds()).toEqual([left]);
  await deleteBackups(holder);
  expect(await owner.holds()).toEqual([]);
  expect(readdirSync(join(holder.place, 'holds'))).toEqual([]);
});

test('a damaged note keeps its own hold only, until the other domain ends it, and check says so', async () => {
  const { owner, holder, source } = await makeSetting();
  await holder.backUp(source, { reliesOn: 'owner' });
  await holder.backUp(source, { reliesOn: 'owner', force: true, tags: ['again'] });
  const notes = join(holder.place, 'holds');
  const name = readdirSync(notes)[0]!;
  const secret = readFileSync(join(notes, name), 'latin1').trimEnd();
  writeFileSync(join(notes, name), `${'12'.repeat(32)}\n`);
  expect(await holder.findings()).toEqual(['hold-note-damaged']);
  expect((await repair(holder.context)).remaining).toMatchObject([{ kind: 'hold-note-damaged' }]);
  await deleteBackups(holder);
  expect(kindsOf(holder)).toEqual(['hold-not-released']);
  expect(await owner.holds()).toHaveLength(1);
  expect(readdirSync(notes)).toEqual([name]);
  await releaseHolds(owner.context, await idOf(holder), [secret]);
  await compact(holder.context, ALL);
  expect(kindsOf(holder)).toEqual(['hold-not-released']);
  expect(readdirSync(notes)).toEqual([]);
});

/** The first answer about each note is wrong. */
class WrongOnce extends FaultyBackend {
  readonly #asked = new Set<string>();

  override async read(name: string): Promise<Buffer> {
    const bytes = await super.read(name);
    if (name.startsWith('holds/') && !this.#asked.has(name)) bytes[3]! ^= 1;
    this.#asked.add(name);
    return bytes;
  }
}

test('one wrong answer about a note is no damage, and its hold ends', async () => {
  const { owner, holder, source } = await makeSetting();
  await holder.backUp(source, { reliesOn: 'owner' });
  const wrong = (): OperationContext => ({ ...holder.context, backend: new WrongOnce(holder.context.backend) });
  expect((await check(wrong())).findings).toEqual([]);
  const selectors = (await holder.snapshots()).map(({ id }) => id);
  await deleteSnapshots(holder.context, { selectors, reclaim: false });
  await compact(wrong(), ALL);
  expect(kindsOf(holder)).toEqual([]);
  expect(await owner.holds()).toEqual([]);
});

test('a domain has a limit of holds, and others have their own', async () => {
  const { owner, holder, source } = await makeSetting();
  await holder.backUp(source, { reliesOn: 'owner' });
  const ids = (await borrowedIds(holder)).subarray(0, 20);
  const hold = { domainId: await idOf(holder), name: 'holder', holdId: 'cd'.repeat(32), isOpen: false };
  const message = 'this repository already has 1 holds of the domain holder';
  await expect(placeHold(owner.context, hold, ids, 1)).rejects.toThrow(message);
  expect(await placeHold(owner.context, { ...hold, domainId: 'ab'.repeat(32) }, ids, 1)).toEqual(Uint8Array.of(1));
  expect(await placeHold(owner.context, hold, ids)).toEqual(Uint8Array.of(1));
  const another = (index: number): typeof hold => ({
    ...hold,
    domainId: `${index}`.repeat(64),
    name: `other-${index}`,
  });
  for (let index = 0; index < 7; index += 1) await placeHold(owner.context, another(index), ids, 1);
  await expect(placeHold(owner.context, another(7), ids, 1)).rejects.toThrow('10 holds of all domains together');
  const own = placeHold(owner.context, { ...hold, domainId: await idOf(owner) }, ids);
  await expect(own).rejects.toThrow('holds nothing for itself');
});

test('an agent says that there are too many holds, and that its domain is not damaged', async () => {
  const place = async (): Promise<never> => Promise.reject(new TooManyHoldsError('too many'));
  const { client } = await startAgent(
    { kind: 'socket', path: socketPath() },
    { holds: { ...fakeService().holds, place } },
  );
  const hold = { domainId: 'ab'.repeat(32), name: 'holder', holdId: 'cd'.repeat(32), isOpen: false };
  await expect(client.holds.place(hold, Buffer.alloc(20))).rejects.toMatchObject({
    kind: 'refused',
    message: expect.stringContaining('it has too many holds'),
  });
});
