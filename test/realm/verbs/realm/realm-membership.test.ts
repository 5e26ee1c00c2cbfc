import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { RefusedError } from '../../../../src/core/errors.ts';
import type { RealmMembership } from '../../../../src/realm/formats/realm-membership.ts';
import { check } from '../../../../src/verbs/check/check.ts';
import { checkStorage } from '../../../../src/verbs/check/check-storage.ts';
import { withRepository } from '../../../../src/core/session/session.ts';
import type { OperationContext } from '../../../../src/core/session/context.ts';
import { rotateMasterKey } from '../../../../src/verbs/key/key-rotation.ts';
import { assertRealm } from '../../../../src/realm/domains/assert-realm.ts';
import { repair } from '../../../../src/verbs/repair/repair.ts';
import { readMembership, removeMembership, writeMembership } from '../../../../src/realm/domains/membership-file.ts';
import { KINDS, newMember, newRealm } from '../../../support/realm.ts';

/** Reads the membership. */
async function membershipOf(context: OperationContext): Promise<RealmMembership | undefined> {
  return await withRepository(context, 'read', readMembership);
}

async function joinRealm(context: OperationContext, name = 'a'): Promise<RealmMembership> {
  return await withRepository(context, 'exclusive', async (repository) => {
    const { repositoryId } = repository.config;
    const membership = { repositoryId, realmId: assertRealm(repository.config), name, coordinator: '/mnt/realm' };
    await writeMembership(repository, membership);
    return membership;
  });
}

describe('the membership', () => {
  it.each(KINDS)('is kept, replaced and removed (%s)', async (kind) => {
    const context = await newMember(kind, await newRealm(kind));
    expect(await membershipOf(context)).toBeUndefined();
    const first = await joinRealm(context);
    expect(await membershipOf(context)).toEqual(first);
    const changed = await joinRealm(context, 'b');
    expect(await membershipOf(context)).toEqual(changed);
    const stored = Buffer.from(await context.backend.read('realm')).toString('latin1');
    expect(stored.includes('/mnt/realm')).toBe(kind === 'plain');
    expect((await check(context)).findings).toEqual([]);
    expect((await checkStorage(context)).findings).toEqual([]);
    await withRepository(context, 'exclusive', removeMembership);
    expect(await membershipOf(context)).toBeUndefined();
    await withRepository(context, 'exclusive', removeMembership);
  });

  it('outlives a rotation of the master key', async () => {
    const context = await newMember('encrypted', await newRealm('encrypted'));
    const membership = await joinRealm(context);
    await rotateMasterKey(context);
    expect(await membershipOf(context)).toEqual(membership);
    expect((await check(context)).findings).toEqual([]);
  });

  it.each(KINDS)('that is damaged is found by check, and set aside by repair (%s)', async (kind) => {
    const context = await newMember(kind, await newRealm(kind));
    const membership = await joinRealm(context);
    const file = join(context.backend.location, 'realm');
    const bytes = readFileSync(file);
    bytes[bytes.length >> 1]! ^= 0x01;
    chmodSync(file, 0o600);
    writeFileSync(file, bytes);
    await expect(membershipOf(context)).rejects.toMatchObject({ code: 'CORRUPT_DATA', advice: { code: 'join-again' } });
    expect((await check(context)).findings).toMatchObject([
      { kind: 'realm-damaged', severity: 'error', name: 'realm' },
    ]);
    expect((await repair(context)).actions).toContainEqual({ kind: 'realm-quarantined', name: 'realm' });
    expect((await check(context)).findings).toEqual([]);
    expect(await membershipOf(context)).toBeUndefined();
    expect(readFileSync(join(context.backend.location, 'quarantine/realm'))).toEqual(bytes);
    expect(await joinRealm(context)).toEqual(membership);
  });

  it('of another repository is not believed', async () => {
    const realm = await newRealm('plain');
    const [a, b] = [await newMember('plain', realm), await newMember('plain', realm)];
    await joinRealm(a);
    writeFileSync(join(b.backend.location, 'realm'), await a.backend.read('realm'));
    await expect(membershipOf(b)).rejects.toThrow('another repository');
  });

  it('cannot be changed by a process that has lost its lock', async () => {
    const context = await newMember('plain', await newRealm('plain'));
    const membership = await joinRealm(context);
    const stolen = withRepository(context, 'exclusive', async (repository) => {
      for (const { name } of await context.backend.list('locks')) await context.backend.remove(name);
      await writeMembership(repository, { ...membership, name: 'late' });
    });
    await expect(stolen).rejects.toThrow(RefusedError);
    expect(await membershipOf(context)).toEqual(membership);
  });
});
