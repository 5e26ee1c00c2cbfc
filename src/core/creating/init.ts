import { assertArguments } from '../session/arguments.ts';
import { INIT_KINDS } from './init-options.ts';
import type { InitOptions } from './init-options.ts';
import { randomBytes } from 'node:crypto';
import { createChunker } from '../chunking/create-chunker.ts';
import { DEFAULT_CHUNKER } from '../chunking/chunker.ts';
import type { ChunkerParameters } from '../chunking/chunker.ts';
import { NoPasswordError, RefusedError, RepositoryChangedError, UsageError } from '../errors.ts';
import { planFilter } from '../ldm/formulas.ts';
import type { FilterPlan, PlanOptions } from '../ldm/formulas.ts';
import type { RepositoryConfig } from '../format/config.ts';
import { inspectConfigHeads } from '../repository/config-copies.ts';
import { assertRules } from '../repository/groups/copy-rules.ts';
import { createRepository, repositoryExists } from '../repository/create-repository.ts';
import { assertNoRepository } from '../repository/vacant-place.ts';
import type { AdviceCode } from '../util/advice.ts';
import { accessOptions, withRepository } from '../session/session.ts';
import { contextAt } from '../session/context.ts';
import type { OperationContext, OtherRepository } from '../session/context.ts';
import { aboutOther, haveSameChunks, keysToShare, parametersOf } from './copied-parameters.ts';
import type { CopiedParameters } from './copied-parameters.ts';
import { extension } from '../session/extension.ts';
import { assertNoneRemembered, firstSight } from '../session/repository-memory.ts';

export { repositoryExists };

export interface InitResult {
  readonly repositoryId: string;
  readonly location: string;
  readonly chunker: ChunkerParameters;
  readonly chunkHash: 'sha1' | 'sha256';
  readonly packHash: RepositoryConfig['packHash'];
  readonly plan: FilterPlan;
  readonly isEncrypted: boolean;
  readonly isAppendOnly: boolean;
  /** The realm whose keys it has: 64 hex digits. */
  readonly realmId: string | undefined;
  /** Whether chunks have the same ids and ends as in the repository that the parameters are from. Undefined without one. */
  readonly hasSameChunks: boolean | undefined;
}

/** A repository that was there before, as far as it can be read without a password. */
export interface ExistingRepository {
  readonly repositoryId: string;
  readonly location: string;
  readonly isEncrypted: boolean;
  readonly isAppendOnly: boolean;
  /** Whether it has the keys of a realm. */
  readonly isInRealm: boolean;
}

export type InitOutcome =
  | { readonly isNew: true; readonly created: InitResult }
  | { readonly isNew: false; readonly existing: ExistingRepository };

/** The filter grows automatically. A small initial filter keeps the checkpoints of a small repository small. */
const CAPACITY = 16_384;

/**
 * Measured on files of /usr in blocks of 2 MiB: with small tables, level 2 takes a fifth less time than level 3 and its
 * output is 4 % larger; level 1 takes a seventh less time than level 2 and its output is 9 % larger.
 */
const COMPRESSION_LEVEL = 2;

type Parameters = Required<
  Pick<InitOptions, 'chunker' | 'chunkHash' | 'packHash' | 'compressionLevel' | 'appendOnly' | 'singleWriter'>
>;

const DEFAULTS: Parameters = {
  chunker: DEFAULT_CHUNKER,
  chunkHash: 'sha1',
  packHash: 'blake3',
  compressionLevel: COMPRESSION_LEVEL,
  appendOnly: false,
  singleWriter: false,
};

/** Creates a repository in an empty place. The configuration is written last, and makes it a repository. */
export async function initRepository(context: OperationContext, options: InitOptions = {}): Promise<InitResult> {
  assertArguments<InitOptions>(context, options, INIT_KINDS);
  const { backend } = context;
  // Before a password is typed.
  await assertNoRepository(backend);
  const { encryption = 'if-configured', copyParametersFrom: other, groups, copies = 1, copiesIfRefs } = options;
  const copyRules = { copies, copiesIfRefs };
  assertRules(copyRules, groups?.length ?? 1);
  if (encryption === 'if-configured') assertNoneRemembered(context);
  const realm = options.realm && (await extension().readParameters(context, options, options.realm));
  const copied = other === undefined ? undefined : await readParameters(context, other);
  const parameters = { ...DEFAULTS, ...copied, ...options, ...realm };
  assertLevel(parameters.compressionLevel);
  createChunker(parameters.chunker);
  const plan = planFilter(filterOf(options, copied));
  const password = await newPassword(context, encryption);
  const isEncrypted = password !== undefined;
  const sharedKeys = realm?.keys ?? keysToShare(copied, isEncrypted);
  const config = {
    ...configOf(parameters, plan, sharedKeys?.idKey),
    ...(groups === undefined ? {} : { hasGroups: true as const }),
    ...(realm === undefined ? {} : { realmId: realm.realmId }),
  };
  const { repositoryId, chunker, chunkHash, packHash } = config;
  let keyId: string | undefined;
  try {
    const given = { config, plan, password, sharedKeys, groups, copyRules };
    // A first backup waits like any other for one that has begun before it.
    keyId = await createRepository(accessOptions(context, 'shared'), given);
  } finally {
    password?.fill(0);
  }
  if (isEncrypted) {
    context.memory?.update(backend.location, repositoryId, (seen = firstSight()) => ({ ...seen, keyId }));
  } else context.memory?.forgetPlace(backend.location);
  return {
    repositoryId,
    location: backend.location,
    chunker,
    chunkHash,
    packHash,
    plan,
    isEncrypted,
    isAppendOnly: config.isAppendOnly === true,
    realmId: realm?.realmId,
    hasSameChunks: copied && sharedKeys !== undefined && haveSameChunks(copied, config),
  };
}

function assertLevel(level: number): void {
  if (Number.isInteger(level) && level >= -7 && level <= 22) return;
  throw new UsageError(`invalid compression level: ${level}`, { hint: 'Choose a level from -7 to 22.' });
}

/** A rate and a number of hashes belong together, so they come from the same place. */
function filterOf({ fpr, hashes, capacity }: InitOptions, copied: CopiedParameters | undefined): PlanOptions {
  const given = fpr === undefined && hashes === undefined ? copied?.filter : { fpr, hashes };
  return { ...given, capacity: capacity ?? copied?.filter.capacity ?? CAPACITY };
}

/** @throws LdmError that names the other repository */
async function readParameters(context: OperationContext, other: OtherRepository): Promise<CopiedParameters> {
  try {
    return await withRepository(contextAt(context, other), 'read', async ({ config }) => parametersOf(config));
  } catch (error) {
    throw aboutOther(error, other.backend.location);
  }
}

function configOf(
  { chunker, chunkHash, packHash, compressionLevel: level, appendOnly, singleWriter }: Parameters,
  plan: FilterPlan,
  idKey: string | undefined,
): RepositoryConfig {
  return {
    formatVersion: 1,
    repositoryId: randomBytes(32).toString('hex'),
    created: new Date().toISOString(),
    chunker,
    chunkHash,
    packHash,
    idKey: idKey ?? randomBytes(32).toString('hex'),
    ldm: { fprTarget: plan.fprTarget, hashes: plan.hashes, capacity: plan.capacity },
    compression: { algorithm: 'zstd', level },
    ...(appendOnly ? { isAppendOnly: true } : {}),
    ...(singleWriter ? { isSingleWriter: true } : {}),
  };
}

async function newPassword(
  { password }: OperationContext,
  encryption: NonNullable<InitOptions['encryption']>,
): Promise<Uint8Array | undefined> {
  if (encryption === 'never' || (encryption === 'if-configured' && password?.isConfigured !== true)) return undefined;
  if (password !== undefined) return await password.readNew();
  throw new NoPasswordError('a new encrypted repository needs a password', { advice: { code: 'give-password' } });
}

/**
 * Like `initRepository`, but leaves a repository that exists as it is.
 * @throws RefusedError if something else is at the place, or the repository lacks what the options ask for
 */
export async function initRepositoryIfMissing(
  context: OperationContext,
  options: InitOptions = {},
): Promise<InitOutcome> {
  assertArguments<InitOptions>(context, options, INIT_KINDS);
  const existing = await findRepository(context);
  if (existing !== undefined) return { isNew: false, existing: assertAsWanted(existing, options) };
  try {
    return { isNew: true, created: await initRepository(context, options) };
  } catch (error) {
    // Another process may have been faster, and this machine may remember its repository already.
    const isRefused = error instanceof RefusedError || error instanceof RepositoryChangedError;
    const other = isRefused ? await findRepository(context) : undefined;
    if (other === undefined) throw error;
    return { isNew: false, existing: assertAsWanted(other, options) };
  }
}

/** Returns the repository at a place, as far as it can be read without a password; undefined if there is none. */
export async function findRepository(at: Pick<OperationContext, 'backend'>): Promise<ExistingRepository | undefined> {
  const { backend } = at;
  if (!(await repositoryExists(backend))) return undefined;
  const { repositoryId, isEncrypted, isAppendOnly, isInRealm } = (await inspectConfigHeads(backend)).head;
  return { repositoryId, location: backend.location, isEncrypted, isAppendOnly, isInRealm };
}

/** What the setup of a machine relies on. Nothing else can be known without a password. */
function assertAsWanted(
  existing: ExistingRepository,
  { encryption, appendOnly, realm }: InitOptions,
): ExistingRepository {
  const { location, isEncrypted, isAppendOnly, isInRealm } = existing;
  const refuse = (difference: string, advice: AdviceCode): RefusedError =>
    new RefusedError(`${location} is already a repository, and it is ${difference}`, { advice: { code: advice } });
  if (encryption === 'always' && !isEncrypted) throw refuse('not encrypted', 'accept-unencrypted');
  if (encryption === 'never' && isEncrypted) throw refuse('encrypted', 'accept-encrypted');
  if (appendOnly === true && !isAppendOnly) throw refuse('not append-only', 'accept-full-access');
  if (realm !== undefined && !isInRealm) throw refuse('in no realm', 'accept-no-realm');
  return existing;
}
