import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Backend, Needs, NextReads } from '../../backend/backend.ts';
import { LOCK_DIRECTORY, findLockConflict, lockedError, lostLockError, unlessDenied } from './lock-conflict.ts';
import type { LockConflict } from './lock-conflict.ts';
import { encodeLockName, fitOwner } from './lock-name.ts';
import type { LockMode } from './lock-name.ts';
import { currentLockOwner } from './lock-owner.ts';
import type { LockOwner } from './lock-owner.ts';
import { HeartbeatWatch, STALE_AFTER_OTHER_BOOT_MS } from './lock-watch.ts';
import { throwIfAborted } from '../../util/cancellation.ts';

export { currentLockOwner } from './lock-owner.ts';
export type { LockOwner } from './lock-owner.ts';
export type { LockMode } from './lock-name.ts';

const HEARTBEAT_INTERVAL_MS = 60_000;
/**
 * A lock left by a crash of this machine must not require manual removal, and every process that finds it starts a new
 * watch. So every process waits until the lock is stale, even if `waitMs` is shorter.
 */
const OTHER_BOOT_WAIT_MS = STALE_AFTER_OTHER_BOOT_MS + 30_000;
/** Contenders create their lock files for a moment before they notice ours: a renewal waits until these are gone. */
const RENEW_WAIT_MS = 10_000;
/** What is looked at when a lock was renewed. */
const RENEWED_READS: NextReads = { inTurn: [[LOCK_DIRECTORY], ['snapshots']] };
const BACK_OFF_MS_MIN = 10;
const BACK_OFF_MS_MAX = 1000;

/** A monotonic clock. Tests use their own. */
export interface LockClock {
  nowMs(): number;
  sleep(durationMs: number): Promise<void>;
}

interface LockOptions {
  readonly mode: LockMode;
  /** How long to wait for other holders. Default: 0. */
  readonly waitMs?: number | undefined;
  readonly owner?: LockOwner | undefined;
  /** Called when the wait begins, and again whenever a different holder blocks us. */
  readonly onWait?: ((holder: string) => void) | undefined;
  readonly clock?: LockClock | undefined;
  /** What is read as soon as there is a lock. */
  readonly nextReads?: NextReads | undefined;
  /** Aborts the wait with its reason. */
  readonly signal?: AbortSignal | undefined;
}

const MONOTONIC_CLOCK: LockClock = {
  nowMs: () => performance.now(),
  sleep: async (durationMs) => sleep(durationMs),
};

/** Nonces of locks that this process released but could not remove. These locks are not held. */
const abandonedNonces = new Set<string>();

/**
 * A lock on a repository. Any number of shared locks can be held at a time, but only one exclusive lock and no other
 * beside it. There is no upgrade: release one lock before acquiring the other.
 */
export class RepositoryLock {
  readonly #backend: Backend;
  readonly #contender: Contender;
  readonly #clock: LockClock;
  readonly #heartbeat: NodeJS.Timeout;
  #file: LockFile;
  #release: Promise<unknown> | undefined;
  /** The removal of the lock that was replaced. */
  #leaving: Promise<void> | undefined;

  private constructor(backend: Backend, held: { contender: Contender; clock: LockClock; file: LockFile }) {
    const { contender, clock, file } = held;
    this.#backend = backend;
    this.#contender = contender;
    this.#clock = clock;
    this.#file = file;
    // A failed heartbeat is not an error yet: if another process removes this lock as stale, `assertHeld` fails.
    this.#heartbeat = setInterval(() => {
      backend.refresh(this.#file.name).catch(() => false);
    }, HEARTBEAT_INTERVAL_MS);
    this.#heartbeat.unref();
  }

  /**
   * Two contenders first create their lock files and then list the directory, so at least one sees the other.
   * @throws RepositoryLockedError if other holders block us for longer than `waitMs`
   */
  static async acquire(backend: Backend, options: LockOptions): Promise<RepositoryLock> {
    const clock = options.clock ?? MONOTONIC_CLOCK;
    const contender = new Contender(backend, options, clock);
    const startMs = clock.nowMs();
    const deadlineMs = startMs + (options.waitMs ?? 0);
    let announcedHolder: string | undefined;
    for (let attempt = 0; ; attempt += 1) {
      throwIfAborted(options.signal);
      const outcome = await contender.attempt(attempt > 0);
      if ('name' in outcome) return new RepositoryLock(backend, { contender, clock, file: outcome });
      const endMs = outcome.isOtherBoot ? Math.max(deadlineMs, startMs + OTHER_BOOT_WAIT_MS) : deadlineMs;
      const remainingMs = endMs - clock.nowMs();
      if (remainingMs <= 0) throw lockedError(backend, outcome);
      if (outcome.holder !== announcedHolder) options.onWait?.(outcome.holder);
      announcedHolder = outcome.holder;
      await clock.sleep(Math.min(remainingMs, backOffMs(attempt)));
    }
  }

  /**
   * Call this right before a commit.
   * @throws RefusedError if another process considered the lock stale and removed it
   */
  async assertHeld(): Promise<void> {
    if ((await this.#backend.sizeOf(this.#file.name)) === undefined) throw lostLockError(this.#backend);
  }

  /**
   * Like `assertHeld`, and returns the sizes of those of the files that exist: one request for both. `backend`: where the
   * files are, which includes the place of the lock.
   * @throws RefusedError
   */
  async heldSizesOf(backend: Backend, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { name } = this.#file;
    const sizes = await backend.sizesOf([name, ...names]);
    if (!sizes.has(name)) throw lostLockError(this.#backend);
    return sizes;
  }

  /** What `assertHeld` looks for. */
  get needs(): Needs {
    return { sizes: new Map([[this.#file.name, 0]]) };
  }

  get mode(): LockMode {
    return this.#contender.mode;
  }

  /**
   * Acquires a new lock of the same mode, then looks for what has changed, and releases the old one, so that no other
   * process can get in between. On another machine, this does not wait until the old one has gone: `release` does.
   * @throws RefusedError or RepositoryLockedError if the old lock was lost; the caller still has to release
   */
  async renew<T>(look: () => Promise<T>): Promise<T> {
    const old = this.#file;
    const endMs = this.#clock.nowMs() + RENEW_WAIT_MS;
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await this.#contender.attempt(attempt > 0, [old.name]);
      if ('name' in outcome) {
        this.#file = outcome;
        try {
          return await look();
        } finally {
          this.#leaving = removeLockFile(this.#backend, old);
          this.#leaving.catch(() => undefined);
          if (this.#backend.readsAtOnce === 1) await this.#leaving;
        }
      }
      if (this.#clock.nowMs() >= endMs) throw lockedError(this.#backend, outcome);
      await this.#clock.sleep(backOffMs(attempt));
    }
  }

  /** Releases the lock. A second call does nothing. */
  async release(): Promise<void> {
    clearInterval(this.#heartbeat);
    this.#release ??= Promise.all([removeLockFile(this.#backend, this.#file), this.#leaving]);
    await this.#release;
  }
}

interface LockFile {
  readonly name: string;
  readonly nonce: string;
}

class Contender {
  readonly #backend: Backend;
  readonly mode: LockMode;
  readonly #self: LockOwner;
  readonly #clock: LockClock;
  readonly #watch: HeartbeatWatch;
  readonly #next: NextReads | undefined;

  constructor(backend: Backend, options: LockOptions, clock: LockClock) {
    this.#backend = backend;
    this.mode = options.mode;
    this.#self = fitOwner(options.owner ?? currentLockOwner());
    this.#clock = clock;
    this.#watch = new HeartbeatWatch(backend);
    this.#next = options.nextReads && withLocks(options.nextReads);
  }

  /**
   * With `looksFirst`, check for conflicts before creating our own lock file, so that we do not block others while
   * waiting. `heldNames` are locks that this process holds already.
   */
  async attempt(looksFirst: boolean, heldNames: readonly string[] = []): Promise<LockFile | LockConflict> {
    const known = looksFirst ? await this.#findConflict(heldNames) : undefined;
    if (known !== undefined) return known;
    const nonce = randomBytes(8).toString('hex');
    const name = `${LOCK_DIRECTORY}/${encodeLockName({ mode: this.mode, owner: this.#self, nonce })}`;
    const file = { name, nonce };
    const conflict = await this.#claim(file, heldNames);
    if (conflict === undefined) return file;
    await removeLockFile(this.#backend, file).catch(unlessDenied);
    return conflict;
  }

  async #claim(file: LockFile, heldNames: readonly string[]): Promise<LockConflict | undefined> {
    const next = heldNames.length === 0 ? this.#next : RENEWED_READS;
    try {
      await this.#backend.claim(file.name, next);
      return await this.#findConflict([...heldNames, file.name]);
    } catch (error) {
      // Report the first error. If the lock file cannot be removed, it is recorded as released.
      await removeLockFile(this.#backend, file).catch(() => undefined);
      throw error;
    }
  }

  async #findConflict(ownNames: readonly string[]): Promise<LockConflict | undefined> {
    return findLockConflict({
      backend: this.#backend,
      mode: this.mode,
      self: this.#self,
      watch: this.#watch,
      abandoned: abandonedNonces,
      nowMs: this.#clock.nowMs(),
      ownNames,
    });
  }
}

async function removeLockFile(backend: Backend, file: LockFile): Promise<void> {
  abandonedNonces.add(file.nonce);
  await backend.release(file.name);
  abandonedNonces.delete(file.nonce);
}

/** Doubles with every attempt. Random, so that two contenders do not keep colliding. */
function backOffMs(attempt: number): number {
  const durationMs = Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS_MIN * 2 ** Math.min(attempt, 16));
  return durationMs * (0.5 + Math.random());
}

function withLocks({ directories = [], inTurn, ...next }: NextReads): NextReads {
  return inTurn === undefined
    ? { ...next, directories: [LOCK_DIRECTORY, ...directories] }
    : { ...next, inTurn: [[LOCK_DIRECTORY], ...inTurn] };
}
