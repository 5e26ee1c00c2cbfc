import { hostname } from 'node:os';
import { isAbsolute } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { CorruptDataError, RefusedError, UsageError } from '../../../core/errors.ts';
import { isDomainName } from '../../formats/domain-records.ts';
import type { DomainMember } from '../../formats/domain-records.ts';
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
import type { OpenRealm } from '../../domains/realm.ts';

export interface JoinOptions {
  /** `zookeeper://host:port,...` or a directory that all members can reach. */
  readonly coordinator: string;
  /** `redis://host:port`: keeps planes and answers for a while. */
  readonly cache?: string | undefined;
  /** The repository was moved here from a place that cannot be seen from here, and is not in use there. */
  readonly isMoved?: boolean;
  /**
   * What the others call this domain: letters, digits, `.`, `_` and `-`. Default: as before, or the name of this
   * machine.
   */
  readonly name?: string | undefined;
}

export interface JoinResult {
  readonly realmId: string;
  readonly domainId: string;
  readonly name: string;
  readonly publication: Publication;
}

/**
 * Joins the realm of a repository, or changes how it is a member, and publishes its plane.
 * @throws RefusedError if the repository was created without a realm, or another member has the name
 * @throws CoordinatorError
 */
export async function joinRealm(context: OperationContext, options: JoinOptions): Promise<JoinResult> {
  return await withRepository(context, 'add', async (repository) => {
    const { coordinator, cache } = options;
    const earlier = await readEarlier(repository);
    // Who joins again after a move keeps the name.
    const name = options.name ?? earlier?.name ?? hostname().replaceAll(/[^A-Za-z0-9._-]/g, '-');
    assertDomainName(name);
    const realmId = assertRealm(repository.config);
    const { repositoryId } = repository.config;
    const given = { repositoryId, realmId, name, coordinator };
    const membership: RealmMembership = cache === undefined ? given : { ...given, cache };
    const isSame = isDeepStrictEqual(earlier, membership);
    if (earlier !== undefined && !isSame && context.backend.isAppendOnly === true)
      throw new RefusedError('the server is append-only: it lets nobody replace the file `realm`', {
        advice: { code: 'join-at-storage' },
      });
    return await withRealm(
      repository,
      async (realm) => {
        await assertCacheUsable(realm);
        await assertOnlyOne(context, realm, options.isMoved === true);
        await register(realm, { name, ...thisMachine(), place: context.backend.location });
        // Only now: a repository that says it is a member must be one.
        if (!isSame) await writeMembership(repository, membership);
        const publication = await publishPlane(repository, realm);
        return { realmId: realm.realmId, domainId: realm.domainId, name, publication };
      },
      membership,
    );
  });
}

/** @throws UsageError */
function assertDomainName(name: string): void {
  if (isDomainName(name)) return;
  throw new UsageError(`${JSON.stringify(name)} cannot be the name of a domain`, {
    hint: 'Choose up to 64 letters, digits, dots, hyphens and underscores, and begin with a letter or a digit.',
  });
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

/**
 * Of two domains that take the same name at a time, at least one sees the other after it has written its record. The
 * one that does gives way, because the other one may have looked before.
 */
async function register({ records, domainId }: OpenRealm, member: DomainMember): Promise<void> {
  const own = (await records.members()).members.get(domainId);
  await assertNameFree(records, domainId, member.name);
  if (!(await records.writeMember(domainId, member, own?.version))) {
    throw new RefusedError('another process is joining the realm with this repository', {
      hint: 'Run the command again.',
    });
  }
  try {
    await assertNameFree(records, domainId, member.name);
  } catch (error) {
    await giveWay(records, domainId, own?.value);
    throw error;
  }
}

/** Puts the record back that was there before. */
async function giveWay(
  records: OpenRealm['records'],
  domainId: string,
  before: DomainMember | undefined,
): Promise<void> {
  if (before === undefined) return await records.remove(domainId);
  const { members } = await records.members();
  await records.writeMember(domainId, before, members.get(domainId)?.version);
}

async function assertNameFree(records: OpenRealm['records'], domainId: string, name: string): Promise<void> {
  for (const [otherId, { value }] of (await records.members()).members) {
    if (otherId === domainId || value.name !== name) continue;
    throw new RefusedError(`the realm has a domain ${name} already: ${value.place} on ${value.host}`, {
      advice: { code: 'choose-domain-name' },
    });
  }
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
