import type { Backend, Verify } from '../../backend/backend.ts';
import { PLAIN } from '../../crypto/seals.ts';
import { BackendError, CorruptDataError } from '../../errors.ts';
import { decodeConfigHead } from '../../format/config.ts';
import type { ConfigHead } from '../../format/config.ts';
import { randomBytes } from 'node:crypto';
import {
  CONFIG_COPY_NAME,
  CONFIG_NAME,
  RECOVERIES_NAME,
  directoriesOf,
  directoryOf,
  isCommitName,
} from '../../format/layout.ts';
import { CHANGEABLE_NAMES } from '../../format/metadata-state.ts';
import { encodeRecoveries, recoveriesIn } from '../../format/recoveries.ts';
import type { MetadataCopy } from '../../groups/metadata-copy.ts';
import { mapConcurrently } from '../../util/map-concurrently.ts';
import { acquireLock } from '../access.ts';
import type { AccessOptions } from '../access.ts';
import { assertNoRepository } from '../vacant-place.ts';
import { DurableOrder } from '../durable-order.ts';
import type { FoundCopies } from './found-copies.ts';
import { assertNamed } from './named-bytes.ts';
import { inCopiedSteps } from './own-metadata.ts';

export interface Recovered {
  readonly fileCount: number;
  readonly bytes: number;
  readonly snapshotCount: number;
  /** Files of which no group has a sound copy. */
  readonly unreadableNames: readonly string[];
}

/** The others follow in a fixed order: the configuration, which makes it a repository, is last. */
const WRITTEN_FIRST = CHANGEABLE_NAMES.filter(
  (name) => ![RECOVERIES_NAME, CONFIG_COPY_NAME, CONFIG_NAME].includes(name),
).toReversed();

/**
 * Makes a repository of the copies in its groups, in an empty place. The configuration is written last, and makes it a
 * repository; what an interruption leaves may be there. Nothing is changed in the groups.
 * @throws RefusedError if the place is not empty
 */
export async function recoverMetadata(access: Omit<AccessOptions, 'mode'>, found: FoundCopies): Promise<Recovered> {
  const { backend } = access;
  const config = found.state.files.get(CONFIG_NAME) ?? found.state.files.get(CONFIG_COPY_NAME);
  if (config === undefined) throw new CorruptDataError('the copies in the groups have no configuration');
  const head = decodeConfigHead(config);
  const sizes = new Map(found.newest.flatMap((copy) => [...copy.sizes]));
  const known = new Set([...sizes.keys(), ...CHANGEABLE_NAMES]);
  await assertNoRepository(backend, known);
  // A directory is not made for a file where no repository is.
  const directories = new Set([...directoriesOf(head), ...[...sizes.keys()].map((name) => directoryOf(name))]);
  await backend.prepare([...directories], head.isSingleWriter);
  const lock = await acquireLock(access, 'exclusive');
  try {
    await assertNoRepository(backend, known);
    const recovery = new Recovery(backend, found, head, async () => lock.assertHeld());
    return await recovery.run(sizes, config);
  } finally {
    await lock.release().catch(() => undefined);
  }
}

class Recovery {
  readonly #backend: Backend;
  readonly #found: FoundCopies;
  readonly #head: ConfigHead;
  readonly #verify: Verify;
  readonly #unreadable: string[] = [];
  #bytes = 0;

  constructor(backend: Backend, found: FoundCopies, head: ConfigHead, verify: Verify) {
    this.#backend = backend;
    this.#found = found;
    this.#head = head;
    this.#verify = verify;
  }

  async run(sizes: ReadonlyMap<string, number>, config: Uint8Array): Promise<Recovered> {
    const names = [...sizes.keys()].toSorted();
    for (const inStep of inCopiedSteps(names)) {
      await mapConcurrently(inStep, this.#backend.readsAtOnce, async (name) => this.#recover(name, sizes.get(name)!));
      await this.#backend.barrier();
    }
    const order = new DurableOrder({ backend: this.#backend, seals: PLAIN });
    await order.keepReserve();
    for (const name of WRITTEN_FIRST) {
      const bytes = this.#found.state.files.get(name);
      if (bytes !== undefined) await order.publishFile(name, bytes, this.#verify);
    }
    await order.publishFile(RECOVERIES_NAME, this.#recoveries(), this.#verify);
    await order.publishFile(CONFIG_COPY_NAME, this.#found.state.files.get(CONFIG_COPY_NAME) ?? config, this.#verify);
    await order.publishFile(CONFIG_NAME, config, this.#verify, true);
    return {
      fileCount: names.length - this.#unreadable.length,
      bytes: this.#bytes,
      snapshotCount: names.filter((name) => directoryOf(name) === 'snapshots').length,
      unreadableNames: this.#unreadable,
    };
  }

  #recoveries(): Uint8Array {
    const { state, missing, lastNumber } = this.#found;
    const id = randomBytes(16).toString('hex');
    const number = missing.length === 0 ? lastNumber : undefined;
    const recovery = { id, place: this.#backend.location, number };
    return encodeRecoveries([...recoveriesIn(state.files), recovery]);
  }

  async #recover(name: string, sizeBytes: number): Promise<void> {
    const bytes = await this.#read(name);
    if (bytes === undefined) {
      this.#unreadable.push(name);
      return;
    }
    this.#bytes += bytes.length;
    // An interrupted recovery has left it. Files appear whole. Commit records of other states have the same names.
    if (!isCommitName(name) && (await this.#backend.sizeOf(name)) === sizeBytes) return;
    await this.#backend.publish(name, bytes, this.#verify);
  }

  /** Any copy of the same name has the same bytes, if it is sound. */
  async #read(name: string): Promise<Uint8Array | undefined> {
    const { newest, older } = this.#found;
    const copies: readonly MetadataCopy[] = [...newest, ...older].filter(({ sizes }) => sizes.has(name));
    for (const copy of copies) {
      try {
        return await copy.read(name, (bytes) => assertNamed(name, bytes, this.#head.packHash));
      } catch (error) {
        if (!(error instanceof CorruptDataError) && !(error instanceof BackendError)) throw error;
      }
    }
    return undefined;
  }
}
