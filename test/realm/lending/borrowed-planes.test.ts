import { renameSync } from 'node:fs';
import { expect, test } from 'vitest';

import { compact } from '../../../src/core/removing/compact.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import { adopt } from '../../../src/realm/verbs/adopt/adopt.ts';
import { lookUp } from '../../../src/realm/verbs/locate/look-up.ts';
import { realmStatus } from '../../../src/realm/verbs/realm/status.ts';
import { RealmAccess } from '../../../src/realm/domains/realm-access.ts';
import { ALL, borrowedIds, liveIdsOf, makeSetting } from '../../support/lending-pair.ts';
import type { Member } from '../../support/lending-pair.ts';

interface Observed {
  /** The names of the domains whose planes say maybe, of each id. */
  readonly candidates: readonly (readonly string[])[];
  readonly verdicts: readonly string[];
  /** The names of the domains that have each. */
  readonly having: readonly (readonly string[])[];
}

async function lookUpFrom({ context }: Member, ids: readonly Uint8Array[]): Promise<Observed> {
  return await withRepository(context, 'read', async (repository) =>
    new RealmAccess(context, repository).with(async (domains) => {
      const opened = await repository.openState();
      const candidates = await domains.candidates(ids);
      const found = await lookUp(opened, domains, ids, { ask: 'maybe', deadlineMs: 60_000 });
      return {
        candidates: candidates.map((each) => each.map(({ member }) => member.name)),
        verdicts: found.map(({ verdict }) => verdict),
        having: found.map(({ elsewhere }) => elsewhere.map(({ domain }) => domain.member.name)),
      };
    }),
  );
}

/** Of how many ids the plane of a domain says maybe. */
function countOf({ candidates }: Observed, name: string): number {
  return candidates.filter((names) => names.includes(name)).length;
}

/** Each id that begins at a multiple of 20 bytes. */
function idsIn(bytes: Uint8Array): Uint8Array[] {
  return Array.from({ length: bytes.length / 20 }, (_, index) => bytes.subarray(20 * index, 20 * index + 20));
}

test('a plane has what its domain stores, and not what it has borrowed until it has adopted that', async () => {
  const { realm, owner, holder, source } = await makeSetting();
  const viewer = await realm.join('viewer');
  await holder.backUp(realm.files(3, 2));
  const own = await liveIdsOf(holder);
  await holder.backUp(source, { reliesOn: 'owner' });
  const borrowed = idsIn(await borrowedIds(holder));
  expect(borrowed.length).toBeGreaterThan(40);
  const repeated = <T>(value: T): T[] => borrowed.map(() => value);

  const asked = await lookUpFrom(viewer, borrowed);
  expect([asked.verdicts, asked.having]).toEqual([repeated('found'), repeated(['owner'])]);
  expect(countOf(asked, 'owner')).toBe(borrowed.length);
  // A plane may say maybe of what its domain lacks, of one in a hundred.
  expect(countOf(asked, 'holder')).toBeLessThan(10);
  expect(countOf(await lookUpFrom(viewer, own), 'holder')).toBe(own.length);
  const self = (await realmStatus(holder.context)).domains.find(({ isSelf }) => isSelf)!;
  expect(self).toMatchObject({ isCurrent: true, unpublished: 0 });

  // The holder does not have it, so nobody knows.
  renameSync(owner.place, `${owner.place}-away`);
  const without = await lookUpFrom(viewer, borrowed);
  expect([without.verdicts, without.having]).toEqual([repeated('unknown'), repeated([])]);
  renameSync(`${owner.place}-away`, owner.place);

  await adopt(holder.context);
  await compact(holder.context, ALL);
  expect(countOf(await lookUpFrom(viewer, borrowed), 'holder')).toBe(borrowed.length);
});
