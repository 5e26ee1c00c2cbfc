import { randomBytes } from 'node:crypto';
import { createChunker } from '../chunking/create-chunker.ts';
import { DEFAULT_CHUNKER } from '../chunking/chunker.ts';
import type { ChunkerParameters } from '../chunking/chunker.ts';
import { NoPasswordError, UsageError } from '../errors.ts';
import { planFilter } from '../ldm/formulas.ts';
import type { FilterPlan } from '../ldm/formulas.ts';
import type { RepositoryConfig } from '../format/config.ts';
import { assertNoRepository, createRepository } from '../repository/create-repository.ts';
import { accessOptions } from './context.ts';
import type { OperationContext } from './context.ts';
import { NOTHING_SEEN, assertNoneRemembered } from './repository-memory.ts';

export { repositoryExists } from '../repository/create-repository.ts';

export interface InitOptions {
  readonly chunker?: ChunkerParameters;
  readonly chunkHash?: 'sha1' | 'sha256';
  readonly packHash?: RepositoryConfig['packHash'];
  /** The false positive rate that the filter must stay below. */
  readonly fpr?: number;
  readonly hashes?: number;
  /** The number of chunks to size the filter for. It grows beyond that when needed. */
  readonly capacity?: number;
  /** The zstd level, -7 to 22. */
  readonly compressionLevel?: number;
  /** Nothing is ever removed from it, unless somebody asks for that explicitly. */
  readonly appendOnly?: boolean;
  /**
   * Whether the repository is encrypted with the password of the context: always (somebody may be asked for it), only if a source is configured (default), or never.
   */
  readonly encryption?: 'always' | 'if-configured' | 'never';
}

export interface InitResult {
  readonly repositoryId: string;
  readonly location: string;
  readonly chunker: ChunkerParameters;
  readonly chunkHash: 'sha1' | 'sha256';
  readonly packHash: RepositoryConfig['packHash'];
  readonly plan: FilterPlan;
  readonly isEncrypted: boolean;
  readonly isAppendOnly: boolean;
}

/** The filter grows automatically. A small initial filter keeps the checkpoints of a small repository small. */
const CAPACITY = 16_384;

/**
 * Measured on files of /usr in blocks of 2 MiB: with small tables, level 2 takes a fifth less time than level 3 and its
 * output is 4 % larger; level 1 takes a seventh less time than level 2 and its output is 9 % larger.
 */
const COMPRESSION_LEVEL = 2;

/** Creates a repository in an empty place. The configuration is written last, and makes it a repository. */
export async function initRepository(context: OperationContext, options: InitOptions = {}): Promise<InitResult> {
  const { backend } = context;
  const chunker = options.chunker ?? DEFAULT_CHUNKER;
  createChunker(chunker);
  const level = options.compressionLevel ?? COMPRESSION_LEVEL;
  if (!Number.isInteger(level) || level < -7 || level > 22) {
    throw new UsageError(`compression level ${level} does not exist`, { hint: 'Choose a level from -7 to 22.' });
  }
  const plan = planFilter({ capacity: CAPACITY, ...options });
  const { chunkHash = 'sha1', packHash = 'blake3', appendOnly: isAppendOnly = false } = options;
  const repositoryId = randomBytes(32).toString('hex');
  const config: RepositoryConfig = {
    formatVersion: 1,
    repositoryId,
    created: new Date().toISOString(),
    chunker,
    chunkHash,
    packHash,
    idKey: randomBytes(32).toString('hex'),
    ldm: { fprTarget: plan.fprTarget, hashes: plan.hashes, capacity: plan.capacity },
    compression: { algorithm: 'zstd', level },
    ...(isAppendOnly ? { isAppendOnly } : {}),
  };
  // Before somebody types a new password twice.
  await assertNoRepository(backend);
  const encryption = options.encryption ?? 'if-configured';
  if (encryption === 'if-configured') assertNoneRemembered(context);
  const password = await newPassword(context, encryption);
  try {
    // A first backup waits like any other for one that has begun before it.
    await createRepository(accessOptions(context, 'shared'), { config, plan, password });
  } finally {
    password?.fill(0);
  }
  const isEncrypted = password !== undefined;
  if (isEncrypted) {
    context.memory?.update(backend.location, repositoryId, (seen = NOTHING_SEEN) => seen);
  } else context.memory?.forgetPlace(backend.location);
  const { location } = backend;
  return { repositoryId, location, chunker, chunkHash, packHash, plan, isEncrypted, isAppendOnly };
}

async function newPassword(
  { password }: OperationContext,
  encryption: NonNullable<InitOptions['encryption']>,
): Promise<Uint8Array | undefined> {
  if (encryption === 'never' || (encryption === 'if-configured' && password?.isConfigured !== true)) return undefined;
  if (password !== undefined) return await password.readNew();
  throw new NoPasswordError('a new encrypted repository needs a password', { advice: { code: 'give-password' } });
}
