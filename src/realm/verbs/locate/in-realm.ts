import { CoordinatorError } from '../../coordination/realm-errors.ts';
import type { OpenedState } from '../../../core/repository/opened-state.ts';
import type { Repository } from '../../../core/repository/repository.ts';
import type { OperationContext } from '../../../core/session/context.ts';
import { readMembership } from '../../domains/membership-file.ts';
import { Ranges } from '../../domains/ranges.ts';
import type { DomainRange, FileRange } from '../../domains/ranges.ts';
import { RealmAccess } from '../../domains/realm-access.ts';
import type { ConnectedDomains } from '../../domains/realm-access.ts';
import { lookUp } from './look-up.ts';
import type { Askable, LookUpOptions, LookedUp } from './look-up.ts';

/** The look-ups of one command, in this repository and in the domains that it can reach. */
export interface RealmLookUps {
  /** What the other domains have published about the range. */
  readonly ranges: readonly DomainRange[];
  /** How many exact questions were asked of other domains, one for each chunk. */
  questions(): number;
  lookUp(ids: readonly Uint8Array[]): Promise<LookedUp[]>;
}

interface RealmLookUpOptions extends LookUpOptions {
  readonly range?: FileRange | undefined;
  /** Nothing can be said without the other domains, so that they cannot be reached is an error. */
  readonly needsRealm: boolean;
}

/**
 * Connects to the other domains, runs `work`, and ends the connections. If the repository has no realm, or its realm
 * cannot be reached, it alone answers; in the second case, nothing is said to be absent.
 * @throws CoordinatorError with `needsRealm`
 * @throws RefusedError with `needsRealm`, if the repository is in no realm
 */
export async function withLookUps<T>(
  context: OperationContext,
  repository: Repository,
  opened: OpenedState,
  options: RealmLookUpOptions,
  work: (lookUps: RealmLookUps) => Promise<T>,
): Promise<T> {
  const alone = async (unknown: ReadonlyMap<string, string>): Promise<T> =>
    work({
      ranges: [],
      questions: () => 0,
      lookUp: async (ids) => lookUp(opened, { ...NO_DOMAINS, unknown }, ids, options),
    });
  // Without the keys of a realm, there are no other domains.
  if (repository.config.realmId === undefined && !options.needsRealm) return await alone(new Map());
  const connected = await connect(context, repository, options);
  if (connected instanceof CoordinatorError) return await alone(new Map([['realm', connected.message]]));
  const { domains, ranges, close } = connected;
  try {
    const isLeftOut = ranges?.isLeftOut;
    return await work({
      ranges: ranges?.domains ?? [],
      questions: () => domains.questionCount,
      lookUp: async (ids) => lookUp(opened, domains, ids, { ...options, isLeftOut }),
    });
  } finally {
    await close();
  }
}

interface Connected extends Pick<ConnectedDomains, 'domains' | 'close'> {
  readonly ranges: Ranges | undefined;
}

/** Returns why the realm cannot be reached, unless that is an error. */
async function connect(
  context: OperationContext,
  repository: Repository,
  { range, needsRealm }: RealmLookUpOptions,
): Promise<Connected | CoordinatorError> {
  try {
    if (!needsRealm && (await readMembership(repository)) === undefined)
      throw new CoordinatorError('this repository has not joined it');
    const { realm, domains, close } = await new RealmAccess(context, repository).connect();
    try {
      return { domains, close, ranges: range && (await Ranges.load(domains, realm.keys, range)) };
    } catch (error) {
      await close();
      throw error;
    }
  } catch (error) {
    if (needsRealm || !(error instanceof CoordinatorError)) throw error;
    return error;
  }
}

/** Of a repository that has not joined a realm. */
const NO_DOMAINS: Askable = {
  all: [],
  unknown: new Map(),
  verdicts: async (ids) => ids.map(() => []),
  ask: async () => [],
  answers: async () => undefined,
};
