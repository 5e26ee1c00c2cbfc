import { BackendError, CorruptDataError, LdmError } from '../../core/errors.ts';
import { ID_BYTES } from '../../core/ldm/positions.ts';
import type { Answer, KnownChunk, Peer, PeerHolds, PeerStatus, PlaneFiles } from '../agents/peer.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { isListingCurrent } from '../../core/repository/current-listing.ts';
import { withRepository } from '../../core/session/session.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { existingHolds, placeHold, releaseHolds } from '../lending/holds.ts';
import { planesInRepository } from './plane-files-of.ts';

/** What is asked of a state. The repository is open unless the question is about the state alone. */
type Question<T> = (opened: OpenedState, repository: Repository | undefined) => Promise<T>;

/**
 * What a question is about. The answers about `state` and `files` know everything that was stored before the question;
 * `contents` were found before.
 */
type Subject = 'state' | 'files' | 'contents';

interface WaitingQuestion {
  readonly run: Question<void>;
  readonly subject: Subject;
  readonly fail: (error: unknown) => void;
}

/** How long the repository stays open for the next question: opening it for each chunk takes most of the time, and memory. */
const LINGER_MS = 20;
/** Shorter than the deadlines of callers (5 s and more), so that they report the lock and not a timeout. */
const LOCK_WAIT_MS = 4000;
/** After this, it is closed in any case, so that others get an exclusive lock. */
const OPEN_MS = 2000;
/** For how long a state answers without being opened again: a pack that has vanished is noticed after that. */
const KEPT_MS = 2000;

/**
 * Answers for a repository that this process opens itself: that of an agent, or one of another domain without an agent.
 *
 * The repository is open, and locked, only while something is asked and for a moment after that, so a compaction need not
 * wait for an agent. The state is kept, and brought up to date when the repository has changed. While it has not, answers
 * about the state take neither a lock nor more than a comparison of names. No answer may be relied on: who needs a chunk
 * places a hold, under a lock.
 */
export class RepositoryPeer implements Peer {
  readonly planes: PlaneFiles;
  readonly holds: PeerHolds;
  readonly #context: OperationContext;
  readonly #repositoryId: string;
  #opened: OpenedState | undefined;
  #openedMs = 0;
  #last: Promise<unknown> = Promise.resolve();
  #isAnswering = false;
  #wake: (() => void) | undefined;
  readonly #waiting: WaitingQuestion[] = [];

  constructor(context: OperationContext, repositoryId: string) {
    // Its notices would appear with each question.
    const quiet = { ...context, progress: undefined, onNotice: undefined };
    this.#context = { ...quiet, lockWaitMs: Math.min(context.lockWaitMs ?? LOCK_WAIT_MS, LOCK_WAIT_MS) };
    this.#repositoryId = repositoryId;
    // The next question sees what has changed.
    this.holds = {
      place: async (hold, ids) => placeHold(quiet, hold, ids),
      existing: async (holderId, holdIds) => existingHolds(this.#context, holderId, holdIds),
      release: async (holderId, keys) => releaseHolds(this.#context, holderId, keys),
    };
    this.planes = planesInRepository(async (use) =>
      this.#ask('files', async (_, repository) => use(repository!.files)),
    );
  }

  async ask(ids: Uint8Array): Promise<readonly Answer[]> {
    return await this.#ask('state', async (opened) => {
      const answers: Answer[] = [];
      for (let offset = 0; offset < ids.length; offset += ID_BYTES) answers.push(answerOf(opened, ids, offset));
      if (answers.includes(undefined) && !opened.damage.isWhole)
        throw new CorruptDataError(
          `the repository ${this.#context.backend.location} is damaged, so what it lacks is not known`,
        );
      return answers;
    });
  }

  async status(): Promise<PeerStatus> {
    const domainId = this.#repositoryId;
    return await this.#ask('state', async ({ state }) => ({ domainId, liveCount: state.filter.liveCount }));
  }

  async readChunk(id: Uint8Array): Promise<Uint8Array | undefined> {
    // While the repository is open, its contents cannot be moved.
    const read: Question<Uint8Array | undefined> = async (opened) => readHere(opened, id);
    return (await this.#ask('contents', read)) ?? (await this.#ask('files', read));
  }

  async close(): Promise<void> {
    this.#wake?.();
    await this.#last;
    await this.#context.backend.close();
  }

  async #ask<T>(subject: Subject, question: Question<T>): Promise<T> {
    return await new Promise<T>((resolve, reject) => {
      const run: Question<void> = async (opened, repository) => resolve(await question(opened, repository));
      this.#waiting.push({ run, subject, fail: reject });
      this.#wake?.();
      if (this.#isAnswering) return;
      this.#isAnswering = true;
      this.#last = this.#answerAll();
    });
  }

  async #answerAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      try {
        if (await this.#answerUnopened()) continue;
        await withRepository(this.#context, 'read', async (repository) => this.#answerIn(repository));
      } catch (error) {
        for (const { fail } of this.#waiting.splice(0)) fail(error);
      }
    }
    this.#isAnswering = false;
  }

  /** Answers from the state that is kept, if the repository has not changed since. Returns whether it could. */
  async #answerUnopened(): Promise<boolean> {
    const { backend } = this.#context;
    const opened = this.#opened;
    // On another machine, opening takes few more requests than the comparison.
    if (opened === undefined || backend.localDirectory === undefined) return false;
    if (performance.now() > this.#openedMs + KEPT_MS) return false;
    if (this.#waiting.some(({ subject }) => subject !== 'state')) return false;
    // What is asked during the comparison may be about what was stored after the names were read.
    const { length: count } = this.#waiting;
    if (!(await isListingCurrent(backend, opened.listing))) return false;
    for (const { run, fail } of this.#waiting.splice(0, count)) await run(opened, undefined).catch(fail);
    return true;
  }

  /** Answers what is asked now, and what is asked soon. */
  async #answerIn(repository: Repository): Promise<void> {
    this.#assertRightOne(repository);
    const from = this.#opened;
    this.#opened = undefined;
    this.#openedMs = performance.now();
    let opened = await openFrom(repository, from);
    const endMs = performance.now() + OPEN_MS;
    do {
      const questions = this.#waiting.splice(0);
      for (const { run, fail } of questions) await run(opened, repository).catch(fail);
      // Who has read a chunk will read the next one.
      const isReading = questions.some(({ subject }) => subject === 'contents');
      if (performance.now() > endMs || !(isReading && (await this.#isAskedSoon()))) break;
      if (this.#waiting.some(({ subject }) => subject !== 'contents')) opened = await openFrom(repository, opened);
    } while (this.#waiting.length > 0);
    if (opened.damage.isWhole && !opened.needsCondemned) this.#opened = opened;
  }

  async #isAskedSoon(): Promise<boolean> {
    if (this.#waiting.length > 0) return true;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LINGER_MS);
      this.#wake = (): void => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
    return this.#waiting.length > 0;
  }

  /** Another disk may be mounted at its place. */
  #assertRightOne({ config }: Repository): void {
    if (config.repositoryId === this.#repositoryId) return;
    throw new LdmError(
      `${this.#context.backend.location} is the repository ${config.repositoryId.slice(0, 10)}, not ${this.#repositoryId.slice(0, 10)}`,
    );
  }
}

/** Brings a state up to date. What it remembers and is gone may have been reclaimed since, which is no damage. */
async function openFrom(repository: Repository, from: OpenedState | undefined): Promise<OpenedState> {
  const opened = await repository.openState({ from });
  return from === undefined || opened.damage.isWhole ? opened : await repository.openState();
}

/** The exact answer of an opened repository about the chunk whose id begins at `offset`. */
export function answerOf({ state, listing, needsCondemned }: OpenedState, ids: Uint8Array, offset: number): Answer {
  const { filter, packs } = state;
  const entry = filter.find(ids, offset);
  if (entry < 0 || !filter.hasLocation(entry) || !packs.has(filter.packIndexOf(entry))) return undefined;
  const { packIndex, blockOffset, offsetInBlock, lengthBytes } = filter.location(entry);
  // Its lender has it.
  if (packs.get(packIndex).isBorrowed) return undefined;
  const packId = packs.get(packIndex).id;
  const refs = filter.refs(entry);
  // Condemned packs are known only to a state that needs them.
  const isCondemned = needsCondemned && listing.condemned.packIds.has(packId);
  const use: KnownChunk['state'] = isCondemned ? 'condemned' : refs > 0 ? 'live' : 'dead';
  return { packId, blockOffset, offsetInBlock, lengthBytes, refs, state: use };
}

/** Returns undefined also for a chunk that is damaged. */
async function readHere(opened: OpenedState, id: Uint8Array): Promise<Uint8Array | undefined> {
  if (answerOf(opened, id, 0) === undefined) return undefined;
  try {
    return await opened.reader.readEntry(opened.state.filter.find(id, 0));
  } catch (error) {
    if (error instanceof CorruptDataError || error instanceof BackendError) return undefined;
    throw error;
  }
}
