import { isDamage } from '../../core/errors.ts';
import type { LdmError } from '../../core/errors.ts';
import { REALM_NAME } from '../../core/format/layout.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import { readMembership } from '../domains/membership-file.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { CheckedMember } from '../../core/session/extension.ts';
import type { Finding } from '../../core/session/findings.ts';
import type { RealmAccess } from '../domains/realm-access.ts';
import { checkBorrowed } from './borrowed-check.ts';
import { findHoldProblems } from './damaged-holds.ts';

/** Checks what the domains of a realm keep for each other. `readsData`: also what others keep for this repository. */
export async function checkMember(
  access: RealmAccess,
  opened: OpenedState,
  readsData: boolean,
): Promise<CheckedMember> {
  const { repository } = access;
  const { listings } = await repository.files.readSnapshots();
  const heldFor = [...new Set(listings.flatMap(({ snapshot: { hold } }) => (hold === undefined ? [] : [hold.name])))];
  const { borrowed, findings } = await checkBorrowed(access, opened, readsData);
  const damaged = await findHoldProblems(repository, opened);
  const lost = borrowed.length + heldFor.length === 0 ? [] : await findLostMembership(repository);
  return { borrowed, findings: [...lost, ...findings, ...damaged], heldFor: heldFor.sort() };
}

/** For a repository that must be a member. A damaged file is found by `findMembershipDamage`. */
async function findLostMembership(repository: Repository): Promise<Finding[]> {
  try {
    if ((await readMembership(repository)) !== undefined) return [];
  } catch (error) {
    if (!isDamage(error)) throw error;
    return [];
  }
  return [{ severity: 'error', kind: 'realm-missing', name: REALM_NAME }];
}

/** Finds whether the membership cannot be read. Throws errors for which `isFinding` is false. */
export async function findMembershipDamage(
  repository: Repository,
  isFinding: (error: unknown) => error is LdmError,
): Promise<Finding[]> {
  try {
    await readMembership(repository);
    return [];
  } catch (error) {
    if (!isFinding(error)) throw error;
    return [{ severity: 'error', kind: 'realm-damaged', name: REALM_NAME, reason: error.message }];
  }
}
