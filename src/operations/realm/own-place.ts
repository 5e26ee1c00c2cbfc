import { existsSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { RefusedError } from '../../errors.ts';
import type { DomainMember } from '../../format/domain-records.ts';
import type { OperationContext } from '../context.ts';
import type { OpenRealm } from './realm.ts';

type Backend = OperationContext['backend'];

/** The realm does not know this repository at this place: it may be a copy. */
export class NotOriginalError extends RefusedError {}

/**
 * A copy of a repository, such as one made by cp, has the same id, and each of the two would end holds that only the
 * other one needs. So only the one that the realm knows may place and end holds.
 * @throws NotOriginalError
 * @throws CoordinatorError
 */
export async function assertOriginal({ backend }: OperationContext, { records, domainId }: OpenRealm): Promise<void> {
  const known = (await records.members()).members.get(domainId)?.value;
  if (known !== undefined && isThere(known, backend)) return;
  const found =
    known === undefined ? 'does not know this repository' : `knows this repository at ${known.place} on ${known.host}`;
  throw new NotOriginalError(`the realm ${found}; unless this is a copy, join again`, {
    advice: { code: 'join-here' },
  });
}

/**
 * @param isMoved - the user says that the repository was moved, where that cannot be seen
 * @throws RefusedError if the realm knows this repository at another place and it may still be in use there
 */
export async function assertOnlyOne(
  { backend }: OperationContext,
  { records, domainId }: OpenRealm,
  isMoved: boolean,
): Promise<void> {
  const known = (await records.members()).members.get(domainId)?.value;
  if (known === undefined || isThere(known, backend)) return;
  const isLocal = known.host === hostname() && known.place.startsWith('/');
  if (isLocal && existsSync(join(known.place, 'config'))) {
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

/** A place that is no directory is the same for all machines. The path of a directory may lead over other links now. */
function isThere({ place, host }: DomainMember, { location, localDirectory }: Backend): boolean {
  if (localDirectory === undefined) return place === location;
  return host === hostname() && (place === location || realPath(place) === realPath(location));
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It is not there, so it is no link.
    return path;
  }
}
