import { isDeepStrictEqual } from 'node:util';
import type { Backend } from '../backend/backend.ts';
import { isNothingThere } from '../backend/repository-exists.ts';
import { keepMasterKey } from '../crypto/master-key.ts';
import type { KeptMasterKey } from '../crypto/master-key.ts';
import { KeyRing, PLAIN } from '../crypto/seals.ts';
import type { Seals } from '../crypto/seals.ts';
import {
  CorruptDataError,
  NoPasswordError,
  RefusedError,
  UsageError,
  WrongPasswordError,
  isDamage,
} from '../errors.ts';
import { planFilter } from '../ldm/formulas.ts';
import type { FilterPlan } from '../ldm/formulas.ts';
import { decodeConfig } from '../format/config.ts';
import type { RepositoryConfig } from '../format/config.ts';
import type { KeyRole } from '../format/key-file.ts';
import { configSeals, differing, readConfigCopies, readConfigCopy, unreadable } from './config-copies.ts';
import type { ConfigCopy, ConfigProblem, ReadCopies } from './config-copies.ts';
import { prefetch } from '../util/prefetch.ts';
import { sealedConfigOf } from './sealed-config.ts';
import type { Unlock } from './keys/unlocker.ts';

export { configSeals };

/** A configuration, and how the other files are sealed. */
export interface OpenedConfig {
  readonly config: RepositoryConfig;
  readonly seals: Seals;
  /** What the owner of the password may do. */
  readonly role: KeyRole;
  /** The key file that the password opened. Undefined in a plain repository. */
  readonly keyId: string | undefined;
  /** Epoch of the master key that opened it; 0 in a plain repository. */
  readonly epoch: number;
  /** Returns false if the master key may have been replaced since. True in a plain repository. */
  readonly isCurrent: () => Promise<boolean>;
  /** @throws RefusedError if it is not current */
  readonly assertCurrent: () => Promise<void>;
}

/** In how many rotations of the master key in a row the configuration is read again. */
const MAX_ROTATIONS_IN_A_ROW = 5;

/** A configuration, and what is wrong with its files. */
interface InspectedConfig {
  readonly config: RepositoryConfig;
  readonly problems: readonly ConfigProblem[];
  /** Epoch of the newest master key that both files contain; 0 in a plain repository. */
  readonly sealEpoch: number;
}

/**
 * Reads the configuration, or its copy if the first file is damaged or missing. Calls `unlock` once, and again if the
 * master key was rotated after the configuration was read: the key files that open it are gone by then.
 * @throws NoPasswordError if the repository is encrypted, and there is no `unlock`
 * @throws CorruptDataError if neither can be used
 */
export async function openConfig(backend: Backend, unlock?: Unlock): Promise<OpenedConfig> {
  for (let rotationCount = 0; ; rotationCount += 1) {
    const read = await readConfigCopies(backend);
    try {
      return await openCopies(backend, read, unlock);
    } catch (error) {
      const mayBeOutdated = error instanceof WrongPasswordError || isDamage(error);
      if (!mayBeOutdated || rotationCount === MAX_ROTATIONS_IN_A_ROW || (await isUnchanged(backend, read))) throw error;
    }
  }
}

async function openCopies(backend: Backend, read: ReadCopies, unlock: Unlock | undefined): Promise<OpenedConfig> {
  if (!read.copies[0]!.head.isEncrypted) {
    const { config } = judgeCopies(read, [], isDamage);
    const current = { isCurrent: async () => true, assertCurrent: async () => undefined };
    return { config, seals: PLAIN, role: 'full', keyId: undefined, epoch: 0, ...current };
  }
  if (unlock === undefined)
    throw new NoPasswordError(`${backend.location} is encrypted`, { advice: { code: 'give-password' } });
  const unlocked = await unlock(backend, sealedConfigOf(read.copies));
  const { config, sealEpoch } = judgeCopies(read, unlocked.masterKeys, isDamage);
  const newest = Math.max(...unlocked.masterKeys.map(({ epoch }) => epoch));
  if (config.encryption?.earlierKeys.some(({ epoch }) => epoch >= newest) === true)
    throw new CorruptDataError(`config: not all of its earlier keys are earlier than epoch ${newest}`);
  const masterKeys = [...earlierKeysOf(config), ...unlocked.masterKeys];
  const isCurrent = async (): Promise<boolean> => isUnchanged(backend, read);
  return {
    config,
    // While a rotation is incomplete, everything is sealed under a key that both files have: whichever of them a power
    // cut or a repair leaves, it opens what was written meanwhile.
    seals: new KeyRing(config.repositoryId, masterKeys, sealEpoch),
    role: unlocked.role,
    keyId: unlocked.keyId,
    epoch: newest,
    isCurrent,
    assertCurrent: async () => {
      if (!(await isCurrent())) throw changedMeanwhile();
    },
  };
}

/**
 * For the holder of a lock, who may have waited for it while the master key was rotated: reads the configuration
 * again then. The master key is never rotated under the lock.
 */
export async function currentConfig(
  first: OpenedConfig,
  readAgain: () => Promise<OpenedConfig>,
): Promise<OpenedConfig> {
  if (await first.isCurrent()) return first;
  const opened = await readAgain();
  if (opened.config.repositoryId !== first.config.repositoryId) throw changedMeanwhile();
  await opened.assertCurrent();
  return opened;
}

function changedMeanwhile(): RefusedError {
  return new RefusedError('the configuration was changed meanwhile: another command may have rotated the master key', {
    hint: 'Run the command again.',
  });
}

/** Returns the master keys that a configuration contains. */
function earlierKeysOf(config: RepositoryConfig | undefined): KeptMasterKey[] {
  const earlier = config?.encryption?.earlierKeys ?? [];
  return earlier.map(({ epoch, key }) => keepMasterKey({ epoch, bytes: Buffer.from(key, 'hex') }));
}

async function isUnchanged(backend: Backend, { copies }: ReadCopies): Promise<boolean> {
  const read = async ({ name }: ConfigCopy): Promise<ConfigCopy | undefined> =>
    readConfigCopy(backend, name).catch((error: unknown) => {
      if (!isNothingThere(error) && !(error instanceof CorruptDataError)) throw error;
      return undefined;
    });
  // Nothing relies on a copy that was not read.
  for await (const [{ bytes }, reading] of prefetch(copies, backend.readsAtOnce, read)) {
    const now = await reading;
    if (now === undefined || Buffer.compare(bytes, now.bytes) !== 0) return false;
  }
  return true;
}

/**
 * Reads both files of the configuration, and returns their problems. `masterKeys`: none in a plain repository. Throws
 * errors for which `isFinding` is false.
 * @throws CorruptDataError also if both files are valid but differ in more than the newest master key
 */
export async function inspectConfig(
  backend: Backend,
  masterKeys: readonly KeptMasterKey[],
  isFinding: (error: unknown) => boolean = isDamage,
): Promise<InspectedConfig> {
  return judgeCopies(await readConfigCopies(backend, isFinding), masterKeys, isFinding);
}

interface DecodedCopy extends ConfigCopy {
  readonly config: RepositoryConfig;
}

function judgeCopies(
  { copies, problems: unread }: ReadCopies,
  masterKeys: readonly KeptMasterKey[],
  isFinding: (error: unknown) => boolean,
): InspectedConfig {
  const problems = [...unread];
  const decoded: DecodedCopy[] = [];
  for (const copy of copies) {
    // The newest one has the key of the other.
    const ring = new KeyRing(copy.head.repositoryId, [...earlierKeysOf(decoded[0]?.config), ...masterKeys]);
    try {
      const seals = copy.head.isEncrypted ? configSeals(ring) : undefined;
      decoded.push({ ...copy, config: decodeConfig(copy.bytes, { seals }) });
    } catch (error) {
      if (!isFinding(error)) throw error;
      problems.push({ name: copy.name, message: `${copy.name}: ${(error as Error).message}` });
    }
  }
  const [newest, other] = decoded;
  if (newest === undefined) throw unreadable(problems);
  const { config, epoch } = newest;
  if (other === undefined || isDeepStrictEqual(config, other.config)) return { config, problems, sealEpoch: epoch };
  if (epoch === other.epoch || !isDeepStrictEqual(withoutKeys(config), withoutKeys(other.config))) throw differing();
  const message = `${other.name}: it is from before the last rotation of the master key`;
  problems.push({ name: other.name, message, isOutdated: true });
  return { config, problems, sealEpoch: commonEpoch(newest, other) };
}

/** What a rotation of the master key does not change. */
function withoutKeys({ encryption, ...settings }: RepositoryConfig): unknown {
  return { ...settings, chunkerKey: encryption?.chunkerKey };
}

function commonEpoch(newest: DecodedCopy, other: DecodedCopy): number {
  const inOther = new Map(other.config.encryption?.earlierKeys.map(({ epoch, key }) => [epoch, key]));
  const common = (newest.config.encryption?.earlierKeys ?? []).filter(
    ({ epoch, key }) => epoch === other.epoch || inOther.get(epoch) === key,
  );
  return common.length === 0 ? newest.epoch : Math.max(...common.map(({ epoch }) => epoch));
}

/**
 * Returns the plan of an empty filter.
 * @throws CorruptDataError if there is no such filter
 */
export function planOf({ ldm: { capacity, hashes, fprTarget } }: RepositoryConfig): FilterPlan {
  try {
    return planFilter({ capacity, hashes, fpr: fprTarget });
  } catch (error) {
    // The error is in the configuration, not in how this command is used.
    if (!(error instanceof UsageError)) throw error;
    throw new CorruptDataError(`config: ${error.message}`, { cause: error });
  }
}
