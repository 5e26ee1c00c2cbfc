import { randomBytes } from 'node:crypto';
import { CorruptDataError } from '../../core/errors.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME } from '../../core/format/layout.ts';
import { eachInTurn, mapConcurrently } from '../../core/util/map-concurrently.ts';
import { AnswersAhead, groupsOf } from '../../core/backend/answers-ahead.ts';
import type { Backend, BackendFile, NextReads, Place, StagedFile, Verify } from '../../core/backend/backend.ts';
import { assertInside } from '../../core/format/own-names.ts';
import { readToMove } from '../../core/backend/sure-reading.ts';
import type { RetryOptions } from '../../core/backend/retry.ts';
import { PendingUploads } from './pending-uploads.ts';
import { StoreError } from './object-store.ts';
import type { ObjectStore } from './object-store.ts';
import { assertUsable } from './probe.ts';
import { StoreRequests } from './store-requests.ts';
import { StagedObject } from './staged-object.ts';
import type { Publication } from './staged-object.ts';

/** How long a repository that was seen counts as present. */
const SEEN_MS = 60_000;
/** Random bytes make the content of a lock, and of the same lock after each heartbeat, different from any other. */
const TOKEN_BYTES = 16;

/**
 * A repository in a store of objects. A file is one object, written by one request when it is published, and durable when
 * that request is answered. There are no directories: each exists as long as there is a repository.
 */
export class ObjectBackend implements Backend {
  readonly location: string;
  readonly localDirectory: undefined = undefined;
  readonly readsAtOnce: number;
  readonly #store: ObjectStore;
  readonly #requests: StoreRequests;
  readonly #uploads: PendingUploads = new PendingUploads();
  readonly #ahead = new AnswersAhead<BackendFile[]>();
  /** Until when there is a repository: it was created by this process, or its configuration was read. */
  #knownUntilMs = 0;
  /** Whether there was nothing at all when it was examined. */
  #wasVacant: Promise<boolean> = Promise.resolve(false);

  /** @param location - the place as the user named it, for messages */
  constructor(location: string, store: ObjectStore, retry: RetryOptions) {
    this.location = location;
    this.#store = store;
    this.#requests = new StoreRequests(location, retry);
    this.readsAtOnce = store.requestsAtOnce;
  }

  clockAheadMs(): number | undefined {
    return this.#store.clockAheadMs?.();
  }

  get keepsRemoved(): boolean | undefined {
    return this.#store.keepsRemoved;
  }

  async oldVersions(): ReturnType<NonNullable<Backend['oldVersions']>> {
    return await this.#requests.run('list', '', async () => this.#store.oldVersions?.());
  }

  async examine(): Promise<Place> {
    const listing = this.#requests.run('list', '', async () => this.#store.children(''));
    this.#wasVacant = listing.then(({ length }) => length === 0).catch(() => false);
    const names = await listing;
    return { missing: names.length === 0 ? this.location : undefined, file: undefined, names: names.toSorted() };
  }

  async prepare(_directories: readonly string[] = [], isSingleWriter = false): Promise<void> {
    await this.#requests.run('list', '', async () => this.#store.assertReady?.());
    await assertUsable(this.#store, this.#requests, { isSingleWriter, uploads: this.#uploads });
    this.#knownUntilMs = Infinity;
  }

  readAhead(next: NextReads, isFresh = false): void {
    if (!isFresh && !this.#ahead.isEmpty) return;
    const list = (asked: NextReads): Promise<BackendFile[]>[] =>
      eachInTurn(groupsOf(asked), async (directory) => this.#list(directory));
    this.#ahead.ask(next, { list, read: async (name) => this.#read(name) });
  }

  async list(directory: string): Promise<BackendFile[]> {
    return (await this.#ahead.listing(directory)) ?? (await this.#list(directory));
  }

  /** Where nothing is listed, a missing configuration tells a place without a repository from an empty directory. */
  async #list(directory: string): Promise<BackendFile[]> {
    await this.#uploads.settled();
    const prefix = directory === '' ? '' : `${directory}/`;
    const found = await this.#requests.run('list', directory, async () => this.#store.list(prefix));
    const files = found
      // Some programs create an empty object for each directory.
      .filter(({ key }) => !key.endsWith('/') && key.length > prefix.length)
      .map(({ key, sizeBytes, modifiedMs }) => ({ name: key, sizeBytes, modifiedMs }));
    const isUnknown = performance.now() > this.#knownUntilMs;
    if (files.length === 0 && isUnknown && ((await this.#wasVacant) || !(await this.#hasRepository()))) {
      const reason = new StoreError('there is no repository', { kind: 'absent', isAnswer: true });
      throw this.#requests.failure('list', directory, reason);
    }
    return files.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async sizeOf(name: string): Promise<number | undefined> {
    assertInside(name);
    await this.#uploads.settled(name);
    return (await this.#requests.run('sizeOf', name, async () => this.#store.head(name)))?.sizeBytes;
  }

  /**
   * One request for each name, also for thousands: a listing may lag behind, and callers ask by name because of that. Where
   * an upload has failed, that is the reason, not that the file is missing.
   */
  async sizesOf(names: readonly string[]): Promise<Map<string, number>> {
    await this.#uploads.barrier();
    const found = new Map<string, number>();
    await mapConcurrently(names, this.readsAtOnce, async (name) => {
      const sizeBytes = await this.sizeOf(name);
      if (sizeBytes !== undefined) found.set(name, sizeBytes);
    });
    return found;
  }

  async read(name: string): Promise<Uint8Array> {
    assertInside(name);
    return (await this.#ahead.bytes(name)) ?? (await this.#read(name));
  }

  async #read(name: string): Promise<Uint8Array> {
    await this.#uploads.settled(name);
    const bytes = await this.#requests.run('read', name, async () => this.#store.get(name));
    if (name === CONFIG_NAME) this.#knownUntilMs = Math.max(this.#knownUntilMs, performance.now() + SEEN_MS);
    return bytes;
  }

  async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    assertInside(name);
    if (target.length === 0) return;
    await this.#uploads.settled(name);
    const bytes = await this.#requests.run('readRange', name, async () =>
      this.#store.getRange(name, offset, target.length),
    );
    target.set(bytes.subarray(0, target.length));
    if (bytes.length >= target.length) return;
    throw new CorruptDataError(
      `repository ${this.location}: ${name} ends at byte ${offset + bytes.length}, but ${target.length} bytes were expected from byte ${offset}`,
      { advice: { code: 'check-data' } },
    );
  }

  async stage(): Promise<StagedFile> {
    return new StagedObject(async (bytes, publication) => this.#publish(bytes, publication));
  }

  async publish(name: string, bytes: Uint8Array, verify?: Verify): Promise<void> {
    await this.#publish(bytes, { name, verify });
  }

  /**
   * Copies, then removes. A process that ends in between leaves both names. Another one may have moved the file back
   * between the two steps, which this process has then undone: so it looks once more.
   */
  async move(source: string, target: string): Promise<void> {
    if (source === target) return;
    this.#ahead.forget();
    const bytes = await readToMove(this, source);
    await this.#put(target, bytes);
    await this.remove(source);
    if ((await this.sizeOf(target)) === undefined) await this.#put(target, bytes);
  }

  async remove(name: string): Promise<boolean> {
    assertInside(name);
    this.#ahead.forget();
    await this.#uploads.settled(name);
    await this.#requests.run('remove', name, async () => this.#store.remove(name));
    // The answer does not say it, and a question before would be a request more.
    return true;
  }

  async barrier(): Promise<void> {
    await this.#uploads.barrier();
  }

  async settle(): Promise<void> {
    await this.#uploads.settled();
  }

  async claim(name: string): Promise<void> {
    assertInside(name);
    this.#ahead.forget();
    await this.#requests.create(this.#store, 'create', { name, bytes: randomBytes(TOKEN_BYTES) });
  }

  /** A lock that others have removed must not come back. */
  async refresh(name: string): Promise<boolean> {
    const token = randomBytes(TOKEN_BYTES);
    return await this.#requests.run('touch', name, async (isRepeated) => {
      const status = await this.#store.head(name);
      if (status === undefined) return false;
      // The request before may have succeeded without an answer.
      if (isRepeated && Buffer.compare(await this.#store.get(name), token) === 0) return true;
      if (this.#store.replace === undefined || status.version === undefined) {
        await this.#store.put(name, token);
        return true;
      }
      return await this.#store.replace(name, token, status.version);
    });
  }

  async heartbeatOf(name: string): Promise<string | undefined> {
    return await this.#requests.run('heartbeatOf', name, async () => {
      try {
        return Buffer.from(await this.#store.get(name)).toString('hex');
      } catch (error) {
        if (error instanceof StoreError && error.kind === 'absent') return undefined;
        throw error;
      }
    });
  }

  async release(name: string): Promise<boolean> {
    // After a failure, uploads that are under way must not outlive the lock.
    await this.#uploads.settled();
    return await this.remove(name);
  }

  async close(): Promise<void> {
    await this.#uploads.settled();
    await this.#store.close();
  }

  /** Packs are written while the caller goes on. The next barrier waits for them, and fails if one of them has failed. */
  async #publish(bytes: Uint8Array, { name, verify, isNew = false }: Publication): Promise<void> {
    assertInside(name);
    await verify?.();
    this.#ahead.forget();
    if (isNew) await this.#requests.create(this.#store, 'append', { name, bytes });
    else if (verify !== undefined || !name.startsWith('packs/')) await this.#put(name, bytes);
    else await this.#uploads.begin(name, async () => this.#put(name, bytes));
  }

  async #put(name: string, bytes: Uint8Array): Promise<void> {
    assertInside(name);
    await this.#requests.run('append', name, async () => this.#store.put(name, bytes));
  }

  async #hasRepository(): Promise<boolean> {
    return (await this.sizeOf(CONFIG_NAME)) !== undefined || (await this.sizeOf(CONFIG_COPY_NAME)) !== undefined;
  }
}
