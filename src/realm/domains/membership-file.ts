import { CorruptDataError } from '../../core/errors.ts';
import { REALM_NAME } from '../../core/format/layout.ts';
import { decodeRealmMembership, encodeRealmMembership } from '../formats/realm-membership.ts';
import type { RealmMembership } from '../formats/realm-membership.ts';
import type { Repository } from '../../core/repository/repository.ts';

/**
 * Reads the membership of a repository in a realm; undefined if it is no member.
 * @throws CorruptDataError if the file is damaged, or that of another repository
 */
export async function readMembership({
  config: { repositoryId, realmId },
  files,
}: Pick<Repository, 'config' | 'files'>): Promise<RealmMembership | undefined> {
  if (realmId === undefined) return undefined;
  const expected = { repositoryId, realmId, what: REALM_NAME };
  try {
    return await files.readSealed(REALM_NAME, 'realm', (bytes) => decodeRealmMembership(bytes, expected));
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    const message = error.message.startsWith(`${REALM_NAME}:`) ? error.message : `${REALM_NAME}: ${error.message}`;
    throw new CorruptDataError(message, { advice: { code: 'join-again' }, cause: error });
  }
}

/** Makes the repository a member, or changes its membership, durably. The lock is verified right before. */
export async function writeMembership(
  { files, order, assertLocked }: Pick<Repository, 'files' | 'order' | 'assertLocked'>,
  membership: RealmMembership,
): Promise<void> {
  await order.publishFile(REALM_NAME, files.seal('realm', encodeRealmMembership(membership)), assertLocked);
}

/** Ends the membership, durably. No error if there is none. The lock is verified right before. */
export async function removeMembership({
  order,
  assertLocked,
}: Pick<Repository, 'order' | 'assertLocked'>): Promise<void> {
  await order.remove([REALM_NAME], assertLocked);
}
