import { createHmac } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { LdmError, RefusedError } from '../../core/errors.ts';
import type { DomainMember } from '../formats/domain-records.ts';
import { inspectConfigHeads } from '../../core/repository/config-copies.ts';
import { openPlace } from '../../core/repository/open-place.ts';
import type { OpenRepositoryOptions } from '../../core/repository/open-options.ts';
import type { OpenRealm } from './realm.ts';

type Place = Pick<OpenRepositoryOptions, 'backend' | 'openPlace'>;
type Machine = Pick<DomainMember, 'host' | 'machine'>;

/** The realm does not know this repository at this place: it may be a copy. */
export class NotOriginalError extends RefusedError {}

/**
 * A copy of a repository, such as one made by cp, has the same id, and each of the two would end holds that only the
 * other one needs. So only the one that the realm knows may place and end holds.
 * @throws NotOriginalError
 * @throws CoordinatorError
 */
export async function assertOriginal({ backend }: Pick<Place, 'backend'>, realm: OpenRealm): Promise<void> {
  const reason = whyNotOriginal(await assertKnown(realm), backend);
  if (reason !== undefined) throw new NotOriginalError(reason, { advice: { code: 'join-here' } });
}

/** Returns why the repository at this place is not the one that the realm knows; undefined if it is. */
export function whyNotOriginal(known: DomainMember, backend: Place['backend']): string | undefined {
  return isThere(known, backend) ? undefined : `the realm knows this repository at ${known.place} on ${known.host}`;
}

/**
 * Returns what the realm knows about this repository.
 * @throws NotOriginalError if it was forgotten
 * @throws CoordinatorError
 */
export async function assertKnown({ records, domainId }: OpenRealm): Promise<DomainMember> {
  const known = await records.memberOf(domainId);
  if (known !== undefined) return known;
  throw new NotOriginalError('the realm does not know this repository', { advice: { code: 'join-here' } });
}

/**
 * @param isMoved - the user says that the repository was moved, where that cannot be seen
 * @throws RefusedError if the realm knows this repository at another place and it may still be in use there
 */
export async function assertOnlyOne(own: Place, { records, domainId }: OpenRealm, isMoved: boolean): Promise<void> {
  const known = await records.memberOf(domainId);
  if (known === undefined || isThere(known, own.backend)) return;
  const isLocal = isThisMachine(known) && known.place.startsWith('/');
  if (isLocal && (await isRepositoryAt(own, known.place, domainId))) {
    throw new RefusedError(`another copy of this repository is a member: ${known.place}`, {
      hint: 'Remove one of the two, or let the other one leave the realm.',
    });
  }
  if (isLocal || isMoved) return;
  throw new RefusedError(
    `the realm knows this repository at ${known.place} on ${known.host}, where it may still be in use`,
    { advice: { code: 'say-that-it-moved' } },
  );
}

/** Whether the repository with this id, or what is left of it, is at a place. */
export async function isRepositoryAt(own: Pick<Place, 'openPlace'>, place: string, domainId: string): Promise<boolean> {
  try {
    const backend = await openPlace(place, own.openPlace);
    return (await inspectConfigHeads(backend)).head.repositoryId === domainId;
  } catch (error) {
    if (error instanceof LdmError) return false;
    throw error;
  }
}

/** What a member record says about this machine. A name may change, which the identity of an installation does not. */
export function thisMachine(): Machine {
  const machine = machineIdentity();
  return { host: hostname(), ...(machine === undefined ? {} : { machine }) };
}

export function isThisMachine({ host, machine }: Machine): boolean {
  const own = machineIdentity();
  return machine !== undefined && own !== undefined ? machine === own : host === hostname();
}

/** Not the id itself, which machine-id(5) asks not to reveal. */
function machineIdentity(): string | undefined {
  try {
    const id = readFileSync('/etc/machine-id', 'utf8').trim();
    return id === '' ? undefined : createHmac('sha256', id).update('ldm member').digest('hex');
  } catch {
    // Some containers have none.
    return undefined;
  }
}

/** A place that is no directory is the same for all machines. A directory may have another path now. */
function isThere(known: DomainMember, { location, localDirectory }: Place['backend']): boolean {
  if (localDirectory === undefined) return known.place === location;
  return isThisMachine(known) && (known.place === location || isSameFile(known.place, location));
}

/** Whether two paths lead to one repository, by a link or a second mount. */
function isSameFile(a: string, b: string): boolean {
  try {
    const [first, second] = [statSync(join(a, 'config')), statSync(join(b, 'config'))];
    return first.dev === second.dev && first.ino === second.ino;
  } catch {
    // One of them does not exist, or this user may not see it.
    return false;
  }
}
