import { randomBytes } from 'node:crypto';
import type { Verify } from '../backend/backend.ts';
import { readSurely } from '../backend/sure-reading.ts';
import { sha256 } from '../crypto/sha256.ts';
import { openStream } from '../crypto/stream-seal.ts';
import { CorruptDataError, isAbsent, isDamage } from '../errors.ts';
import { FILE_ID_BYTES, MAX_SNAPSHOT_BYTES, NONCE_BYTES } from '../format/constants.ts';
import { UNFINISHED_DIRECTORY } from '../format/layout.ts';
import { decodeSnapshot, encodeSnapshot } from '../format/snapshot.ts';
import type { Snapshot } from '../format/snapshot.ts';
import type { FilePlace } from '../store/pack-end.ts';
import type { DurableOrder } from './durable-order.ts';
import { listOptional } from './own-listing.ts';
import { unlessDenied } from './locks/lock-conflict.ts';

/** The record of a backup that has not ended. Its tree has what was stored by then, and its summary when it began. */
export interface UnfinishedBackup {
  readonly name: string;
  readonly snapshot: Snapshot;
}

/**
 * Records of backups that have not ended. The next backup need not read what they have stored. Nothing relies on a
 * record: its chunks are dead, a compaction reclaims them, and a record that cannot be used is ignored.
 */
export class UnfinishedBackups {
  readonly #place: FilePlace;
  readonly #order: DurableOrder;

  constructor(place: FilePlace, order: DurableOrder) {
    this.#place = place;
    this.#order = order;
  }

  /** Reads all records, except for those that are damaged or gone. */
  async readAll(): Promise<UnfinishedBackup[]> {
    const found: UnfinishedBackup[] = [];
    for (const { name, sizeBytes } of await listOptional(this.#place.backend, UNFINISHED_DIRECTORY)) {
      if (sizeBytes > MAX_SNAPSHOT_BYTES) continue;
      try {
        found.push({ name, snapshot: await this.#read(name, sizeBytes) });
      } catch (error) {
        if (!isDamage(error) && !isAbsent(error)) throw error;
      }
    }
    return found;
  }

  async #read(name: string, sizeBytes: number): Promise<Snapshot> {
    const { backend, seals } = this.#place;
    return await readSurely(backend, name, async (from) => {
      const readRange = async (offset: number, target: Uint8Array): Promise<void> =>
        from.readRange(name, offset, target);
      const source = await openStream({ sizeBytes, readRange }, seals.keys);
      const bytes = Buffer.alloc(source.sizeBytes);
      await source.readRange(0, bytes);
      const manifest = bytes.subarray(FILE_ID_BYTES);
      if (bytes.subarray(0, FILE_ID_BYTES).toString('hex') === sha256(manifest)) return decodeSnapshot(manifest);
      throw new CorruptDataError(`${name}: wrong SHA-256`);
    });
  }

  /** Publishes a record of trees that are durable and indexed. `verify` runs right before. Returns the name. */
  async publish(snapshot: Snapshot, verify: Verify): Promise<string> {
    const manifest = encodeSnapshot(snapshot);
    const bytes = Buffer.concat([Buffer.from(sha256(manifest), 'hex'), manifest]);
    const name = `${UNFINISHED_DIRECTORY}/${randomBytes(NONCE_BYTES).toString('hex')}`;
    await this.#order.publishCheckpoint(name, async (append) => append(bytes), verify);
    return name;
  }

  /** Removes records, if the storage permits that. */
  async remove(names: readonly string[]): Promise<void> {
    if (names.length > 0) await this.#order.remove(names).catch(unlessDenied);
  }
}
