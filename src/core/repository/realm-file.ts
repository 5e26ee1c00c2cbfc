import type { Backend, Verify } from '../backend/backend.ts';
import { isNothingThere } from '../backend/repository-exists.ts';
import { readSurely } from '../backend/sure-reading.ts';
import type { Seals } from '../crypto/seals.ts';
import { CorruptDataError } from '../errors.ts';
import { REALM_NAME } from '../format/layout.ts';
import { decodeRealmMembership } from '../format/realm-membership.ts';
import type { RealmMembership } from '../format/realm-membership.ts';
import type { DurableOrder } from './durable-order.ts';

/** A part of an opened repository. */
interface RealmPlace {
  readonly files: { sealRealm(membership: RealmMembership): Uint8Array };
  readonly order: Pick<DurableOrder, 'publishFile' | 'remove'>;
  readonly assertLocked: Verify;
}

/**
 * Reads the membership of a repository in a realm; undefined if it is no member.
 * @throws CorruptDataError if the file is damaged, or that of another repository
 */
export async function readRealmFile(
  backend: Backend,
  seals: Seals,
  ids: Pick<RealmMembership, 'repositoryId' | 'realmId'>,
): Promise<RealmMembership | undefined> {
  try {
    return await readSurely(backend, REALM_NAME, async (from) => {
      const stored = await from.read(REALM_NAME);
      return decodeRealmMembership(seals.open('realm', stored), { ...ids, what: REALM_NAME });
    });
  } catch (error) {
    if (isNothingThere(error)) return undefined;
    if (!(error instanceof CorruptDataError)) throw error;
    const message = error.message.startsWith(`${REALM_NAME}:`) ? error.message : `${REALM_NAME}: ${error.message}`;
    throw new CorruptDataError(message, { advice: { code: 'join-again' }, cause: error });
  }
}

/** Makes the repository a member, or changes its membership, durably. The lock is verified right before. */
export async function writeRealm(repository: RealmPlace, membership: RealmMembership): Promise<void> {
  const { files, order, assertLocked } = repository;
  await order.publishFile(REALM_NAME, files.sealRealm(membership), assertLocked);
}

/** Ends the membership, durably. No error if there is none. The lock is verified right before. */
export async function removeRealm({ order, assertLocked }: Omit<RealmPlace, 'files'>): Promise<void> {
  await order.remove([REALM_NAME], assertLocked);
}
