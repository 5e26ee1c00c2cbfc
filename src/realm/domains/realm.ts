import { RefusedError } from '../../core/errors.ts';
import { openCoordinator } from '../coordination/open-coordinator.ts';
import { CoordinatorError } from '../coordination/realm-errors.ts';
import type { Coordinator } from '../coordination/coordinator.ts';
import { RealmRecords, createRealmKeys } from '../coordination/realm-records.ts';
import type { RealmKeys } from '../coordination/realm-records.ts';
import type { RealmMembership } from '../formats/realm-membership.ts';
import { readMembership } from './membership-file.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { assertRealm } from './assert-realm.ts';

/** The realm of an opened repository, connected. */
export interface OpenRealm extends JoinedRealm {
  readonly coordinator: Coordinator;
  readonly records: RealmRecords;
}

/** What is needed to connect to a realm when its repository is closed. */
export interface JoinedRealm {
  readonly realmId: string;
  /** The repository id of this domain. */
  readonly domainId: string;
  readonly membership: RealmMembership;
  readonly keys: RealmKeys;
}

/**
 * @param given - the membership of a repository that is about to join
 * @throws RefusedError if the repository is in no realm, or has not joined it
 */
export async function readRealm(repository: Repository, given?: RealmMembership): Promise<JoinedRealm> {
  const realmId = assertRealm(repository.config);
  const membership = given ?? (await readMembership(repository));
  if (membership === undefined) {
    throw new RefusedError('this repository has not joined its realm', { advice: { code: 'join-realm' } });
  }
  const { repositoryId: domainId, idKey } = repository.config;
  return { realmId, domainId, membership, keys: createRealmKeys(idKey, realmId) };
}

/** The caller closes the coordinator. */
export async function connectRealm(joined: JoinedRealm): Promise<OpenRealm> {
  const { realmId, membership, keys } = joined;
  const coordinator = await openCoordinator(membership.coordinator, { realmId });
  return { ...joined, coordinator, records: new RealmRecords(coordinator, realmId, keys) };
}

/** So long, a command that has several uses for a coordinator does not wait again for one that did not answer. */
const GIVEN_UP_MS = 60_000;
const failures = new WeakMap<Repository, { readonly error: CoordinatorError; readonly at: number }>();

/** @throws CoordinatorError at once if the coordinator could not be reached a moment ago */
export async function unlessGivenUp<T>(repository: Repository, work: () => Promise<T>): Promise<T> {
  const failure = failures.get(repository);
  if (failure !== undefined && performance.now() - failure.at < GIVEN_UP_MS) throw failure.error;
  try {
    return await work();
  } catch (error) {
    if (error instanceof CoordinatorError) failures.set(repository, { error, at: performance.now() });
    throw error;
  }
}

/**
 * Connects to the realm of a repository, runs `work`, and ends the connection.
 * @throws as `readRealm`
 * @throws CoordinatorError if the coordinator cannot be reached
 */
export async function withRealm<T>(
  repository: Repository,
  work: (realm: OpenRealm) => Promise<T>,
  given?: RealmMembership,
): Promise<T> {
  const joined = await readRealm(repository, given);
  return await unlessGivenUp(repository, async () => {
    const realm = await connectRealm(joined);
    try {
      return await work(realm);
    } finally {
      await realm.coordinator.close();
    }
  });
}
