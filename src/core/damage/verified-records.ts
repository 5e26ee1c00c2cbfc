import { createHash, randomBytes } from 'node:crypto';
import { isAbsent, isDamage } from '../errors.ts';
import { MAX_VERIFIED_BYTES, NONCE_BYTES } from '../format/constants.ts';
import { VERIFIED_DIRECTORY } from '../format/layout.ts';
import { VERIFIED_COPIES_MAX, VERIFIED_KEY_DIGITS, decodeVerified, encodeVerified } from '../format/verified-record.ts';
import type { VerifiedTimes } from '../format/verified-record.ts';
import type { Repository } from '../repository/repository.ts';
import { unlessDenied } from '../repository/locks/lock-conflict.ts';

/** What all records of a repository say together. */
interface VerifiedRecords {
  /** Those that can be replaced by one: all that were read, and damaged ones. */
  readonly names: readonly string[];
  readonly times: VerifiedTimes;
  readonly areDamaged: boolean;
  /** How many copies are dated later than now. They count as not verified. */
  readonly futureCount: number;
}

/** The key of a copy of a pack in a record. A copy that was moved or made again has another name, and so another key. */
export function verifiedKeyOf(copyName: string): string {
  return createHash('sha256').update(copyName).digest('hex').slice(0, VERIFIED_KEY_DIGITS);
}

/** Returns when all copies of a pack that can be reached were verified last. -Infinity if one of them never was. */
async function verifiedMsOf(
  { packs }: Pick<Repository, 'packs'>,
  packId: string,
  times: VerifiedTimes,
): Promise<number> {
  const keys = (await packs.copyNamesOf(packId)).map(verifiedKeyOf);
  return keys.reduce((oldestMs, key) => Math.min(oldestMs, times.get(key) ?? -Infinity), Infinity);
}

/** How much of the packs was verified. */
interface VerifiedPart {
  readonly packBytes: number;
  readonly verifiedBytes: number;
  /** When the first of these was verified (RFC 3339). Undefined if there are none. */
  readonly oldest: string | undefined;
}

/** A pack counts if all of its copies that can be reached were verified. */
export async function measureVerified(
  repository: Pick<Repository, 'files' | 'packs'>,
  times: VerifiedTimes,
): Promise<VerifiedPart> {
  const { packs } = await repository.files.listAll();
  let [packBytes, verifiedBytes, oldestMs] = [0, 0, Infinity];
  for (const [id, sizeBytes] of packs) {
    const verifiedMs = await verifiedMsOf(repository, id, times);
    packBytes += sizeBytes;
    if (verifiedMs === -Infinity) continue;
    verifiedBytes += sizeBytes;
    oldestMs = Math.min(oldestMs, verifiedMs);
  }
  return { packBytes, verifiedBytes, oldest: verifiedBytes === 0 ? undefined : new Date(oldestMs).toISOString() };
}

/** Reads all records. Of several times of a copy the latest counts that has passed. */
export async function readVerified(
  { files }: Pick<Repository, 'files'>,
  nowMs: number,
  onDamaged?: (name: string, reason: string) => void,
): Promise<VerifiedRecords> {
  const names: string[] = [];
  const times = new Map<string, number>();
  let areDamaged = false;
  let futureCount = 0;
  for (const { name, sizeBytes } of await files.list(VERIFIED_DIRECTORY)) {
    const read = await readRecord(files, name, sizeBytes);
    // Another check has replaced it since.
    if (read === undefined) continue;
    names.push(name);
    if (typeof read === 'string') {
      areDamaged = true;
      onDamaged?.(name, read);
      continue;
    }
    for (const [key, timeMs] of read) {
      if (timeMs > nowMs) futureCount += 1;
      else times.set(key, Math.max(timeMs, times.get(key) ?? timeMs));
    }
  }
  return { names, times, areDamaged, futureCount };
}

/** Returns the reason if the record is damaged, and undefined if it is gone. */
async function readRecord(
  files: Repository['files'],
  name: string,
  sizeBytes: number,
): Promise<VerifiedTimes | string | undefined> {
  if (sizeBytes > MAX_VERIFIED_BYTES) return 'it is too large';
  try {
    return await files.readSealed(name, 'verified', decodeVerified);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    if (!isDamage(error)) throw error;
    return error.message;
  }
}

/** Writes a record. If there are too many copies, those that were verified last. Nothing is written about no copies. */
export async function publishVerified(repository: Repository, times: VerifiedTimes): Promise<void> {
  if (times.size === 0) return;
  const kept =
    times.size <= VERIFIED_COPIES_MAX
      ? times
      : new Map([...times].sort(([, a], [, b]) => b - a).slice(0, VERIFIED_COPIES_MAX));
  const name = `${VERIFIED_DIRECTORY}/${randomBytes(NONCE_BYTES).toString('hex')}`;
  const bytes = repository.files.seal('verified', encodeVerified(kept));
  await repository.order.publishFile(name, bytes, repository.assertLocked, true);
}

/** Removes records, if the storage permits that. */
export async function removeVerified(repository: Repository, names: readonly string[]): Promise<void> {
  if (names.length > 0) await repository.order.remove(names, repository.assertLocked).catch(unlessDenied);
}
