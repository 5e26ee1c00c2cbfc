import { assertArguments } from '../../../core/session/arguments.ts';
import { isAbsolute } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { CorruptDataError, RefusedError, UsageError } from '../../../core/errors.ts';
import type { RealmMembership } from '../../formats/realm-membership.ts';
import { withRepository } from '../../../core/session/session.ts';
import type { OperationContext } from '../../../core/session/context.ts';
import { readMembership, writeMembership } from '../../domains/membership-file.ts';
import type { Repository } from '../../../core/repository/repository.ts';
import { assertRealm } from '../../domains/assert-realm.ts';
import { assertOnlyOne, thisMachine } from '../../domains/own-place.ts';
import { publishPlane } from '../../domains/publish.ts';
import type { Publication } from '../../domains/publish.ts';
import { withRealm } from '../../domains/realm.ts';
import { assertDomainName, namesFor } from './member-name.ts';
import { registerAs } from './register.ts';
import type { OpenRealm } from '../../domains/realm.ts';

export interface JoinOptions {
  /** `zookeeper://host:port,...` or a directory that all members can reach. */
  readonly coordinator: string;
  /** `redis://host:port`: keeps planes and answers for a while. */
  readonly cache?: string | undefined;
  /** The repository was moved here from a place that cannot be seen from here, and is not in use there. */
  readonly isMoved?: boolean;
  /**
   * What the others call this domain: letters, digits, `.`, `_` and `-`. Default: as before, or a free one of `namesFor`:
   * the name of this machine, if no other member has it.
   */
  readonly name?: string | undefined;
}

export interface JoinResult {
  readonly realmId: string;
  readonly domainId: string;
  readonly name: string;
  /** Whether ldm chose a free name, because none was given now or in an earlier join. */
  readonly isNameChosen: boolean;
  readonly publication: Publication;
}

/**
 * Joins the realm of a repository, or changes how it is a member, and publishes its plane.
 * @throws RefusedError if the repository was created without a realm, or another member has the name
 * @throws CoordinatorError
 */
export async function joinRealm(context: OperationContext, options: JoinOptions): Promise<JoinResult> {
  assertArguments<JoinOptions>(context, options, {
    coordinator: 'text!',
    cache: 'text',
    isMoved: 'flag',
    name: 'text',
  });
  return await withRepository(context, 'add', async (repository) => {
    const { coordinator, cache } = options;
    const earlier = await readEarlier(repository);
    // Who joins again after a move keeps the name.
    const named = options.name ?? earlier?.name;
    if (named !== undefined) assertDomainName(named);
    const realmId = assertRealm(repository.config);
    const { repositoryId } = repository.config;
    const membershipOf = (name: string): RealmMembership => {
      const given = { repositoryId, realmId, name, coordinator };
      return cache === undefined ? given : { ...given, cache };
    };
    const isSame = earlier !== undefined && isDeepStrictEqual(earlier, membershipOf(named!));
    if (earlier !== undefined && !isSame && context.backend.isAppendOnly === true)
      throw new RefusedError('the server is append-only: it lets nobody replace the file `realm`', {
        advice: { code: 'join-at-storage' },
      });
    return await withRealm(
      repository,
      async (realm) => {
        await assertCacheUsable(realm);
        await assertOnlyOne(context, realm, options.isMoved === true);
        const { name, isChosen } = await register(context, realm, named);
        // Only now: a repository that says it is a member must be one.
        if (!isSame) await writeMembership(repository, membershipOf(name));
        const publication = await publishPlane(repository, realm);
        return { realmId: realm.realmId, domainId: realm.domainId, name, isNameChosen: isChosen, publication };
      },
      // The name is not known yet, and nothing reads it.
      membershipOf(named ?? ''),
    );
  });
}

/** Makes this domain a member, by default with the name in its record or else one that is free. */
async function register(
  { backend: { location } }: OperationContext,
  realm: OpenRealm,
  named: string | undefined,
): Promise<{ readonly name: string; readonly isChosen: boolean }> {
  const { records, domainId } = realm;
  const member = { ...thisMachine(), place: location };
  // The file `realm` may be lost.
  const known = named ?? (await records.memberOf(domainId))?.name;
  const names = known === undefined ? namesFor(location, domainId) : [known];
  return { name: await registerAs(realm, names, member), isChosen: known === undefined };
}

/** Undefined also if the file is damaged. */
async function readEarlier(repository: Repository): Promise<RealmMembership | undefined> {
  try {
    return await readMembership(repository);
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    return undefined;
  }
}

/**
 * A cache that does not answer is like none, so a mistake in the address would never be noticed.
 * @throws UsageError
 * @throws MissingPackageError
 */
async function assertCacheUsable({ membership: { cache }, realmId, keys }: OpenRealm): Promise<void> {
  if (cache === undefined) return;
  if (!isAbsolute(cache) && !(/^rediss?:\/\/[^/\s]/.test(cache) && URL.canParse(cache))) {
    throw new UsageError(`${JSON.stringify(cache)} is not the address of a Redis server`, {
      hint: 'Give it as redis://host:port, or as the path of a Unix socket.',
    });
  }
  const { openAnswerCache } = await import('../../agents/answer-cache.ts');
  (await openAnswerCache(cache, { realmId, keys })).close();
}

/** @throws RefusedError */
export function findDomain(
  named: string,
  { members, damaged }: Awaited<ReturnType<OpenRealm['records']['members']>>,
): string {
  const byName = [...members].filter(([, { value }]) => value.name === named).map(([id]) => id);
  const byId = [...members.keys(), ...damaged.keys()].filter((id) => named.length >= 4 && id.startsWith(named));
  const found = byName.length > 0 ? byName : byId;
  if (found.length === 1) return found[0]!;
  const names = [...members.values()].map(({ value }) => value.name).join(', ');
  throw new RefusedError(`the realm has ${found.length === 0 ? 'no domain' : 'several domains'} ${named}`, {
    hint: `Its members are: ${names}.`,
  });
}
