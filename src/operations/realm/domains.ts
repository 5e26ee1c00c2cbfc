import { CorruptDataError } from '../../errors.ts';
import { PeerError } from '../../realm/realm-errors.ts';
import type { DomainMember, PublishedState } from '../../format/domain-records.ts';
import { PlaneSet } from '../../ldm/planes.ts';
import { ID_BYTES } from '../../ldm/positions.ts';
import type { Answer, Peer, PlaneFiles } from '../../realm/peer.ts';
import { CachedAnswers } from '../../realm/cached-answers.ts';
import { CachedPlanes } from '../../realm/cached-planes.ts';
import type { AnswerCache } from '../../realm/answer-cache.ts';
import { PlaneTracker } from '../../realm/plane-tracker.ts';
import type { OperationContext } from '../context.ts';
import { openCache } from './open-cache.ts';
import { openPeer } from './open-peer.ts';
import type { OpenRealm } from './realm.ts';

/** Another member of the realm. */
export interface Domain {
  readonly id: string;
  readonly member: DomainMember;
  /** What it has published. Undefined if nothing, or if that cannot be read. */
  readonly published: PublishedState | undefined;
  /** Why it cannot be read. */
  readonly problem: string | undefined;
}

/** The other members of a realm: their planes, and connections to them, which are made when they are needed. */
export class Domains {
  /** How many chunks other domains were asked about. */
  questionCount = 0;
  readonly #context: OperationContext;
  readonly #realm: OpenRealm;
  readonly #planes = new PlaneSet();
  readonly #trackers = new Map<string, PlaneTracker>();
  readonly #planeFiles = new Map<string, CachedPlanes>();
  readonly #peers = new Map<string, Promise<Peer>>();
  #cache: Promise<AnswerCache | undefined> | undefined;
  #all: readonly Domain[] = [];
  #unknown: ReadonlyMap<string, string> = new Map();

  constructor(context: OperationContext, realm: OpenRealm) {
    this.#context = context;
    this.#realm = realm;
  }

  /** Members that cannot be asked: the beginning of the id, and why. As of the last `readRecords`. */
  get unknown(): ReadonlyMap<string, string> {
    return this.#unknown;
  }

  /** As of the last `readRecords`. */
  get all(): readonly Domain[] {
    return this.#all;
  }

  /**
   * Reads the records of all members.
   * @throws CoordinatorError
   */
  async readRecords(): Promise<void> {
    const { records, domainId } = this.#realm;
    const all: Domain[] = [];
    const { members, damaged } = await records.members();
    for (const [id, { value: member }] of members) {
      if (id === domainId) continue;
      const state = await records.stateOf(id).catch(asProblem);
      const isRead = typeof state !== 'string';
      all.push({ id, member, published: isRead ? state?.value : undefined, problem: isRead ? undefined : state });
    }
    this.#all = all;
    this.#unknown = new Map([...damaged].map(([id, reason]) => [id.slice(0, 8), reason]));
    const known = new Set(all.map(({ id }) => id));
    for (const id of this.#trackers.keys()) if (!known.has(id)) this.#drop(id);
  }

  /** Loads what the domains have published. A plane that cannot be loaded says maybe for everything. */
  async loadPlanes(): Promise<void> {
    await Promise.all(this.#all.map(async (domain) => this.#loadPlane(domain)));
  }

  /** Whether its plane is what it has published last. Only then, the plane can say no. */
  isCurrent({ id }: Domain): boolean {
    return this.#trackers.get(id)?.isCurrent === true;
  }

  /** The domains that may have a chunk. */
  candidates(id: Uint8Array): Domain[] {
    const maybe = new Set(this.#planes.candidates(id, 0));
    return this.#all.filter((domain) => maybe.has(domain.id) || !this.isCurrent(domain));
  }

  /**
   * Asks a domain exactly about ids, one after another in `ids`.
   * @throws LdmError if it does not answer in time
   */
  async ask({ id, member }: Domain, ids: Uint8Array, deadlineMs: number): Promise<readonly Answer[]> {
    this.questionCount += ids.length / ID_BYTES;
    const asking = this.peerOf(id).then(async (peer) => peer.ask(ids));
    return await withinDeadline(asking, deadlineMs, member.name);
  }

  /**
   * Returns the bytes of a chunk as a domain gives them, not verified. If its agent has died, the domain is reached in
   * another way.
   * @throws LdmError if the domain cannot be reached
   */
  async readChunk(domainId: string, id: Uint8Array): Promise<Uint8Array | undefined> {
    const peer = await this.peerOf(domainId);
    try {
      return await peer.readChunk(id);
    } catch (error) {
      if (!(error instanceof PeerError) || error.kind !== 'unreachable') throw error;
      this.#peers.delete(domainId);
      return await (await this.peerOf(domainId)).readChunk(id);
    }
  }

  /** What the domains have answered lately. Undefined: nothing keeps that. */
  async answers(): Promise<CachedAnswers | undefined> {
    const cache = await this.#openCache();
    return cache && new CachedAnswers(cache);
  }

  /** @throws LdmError if the domain cannot be reached */
  async peerOf(domainId: string): Promise<Peer> {
    const known = this.#peers.get(domainId);
    if (known !== undefined) return await known;
    const domain = this.#all.find(({ id }) => id === domainId);
    if (domain === undefined) throw new PeerError('the domain has left the realm', { kind: 'unreachable' });
    const opening = openPeer(this.#context, this.#realm, domain);
    this.#peers.set(domainId, opening);
    // Next time it may be there.
    opening.catch(() => this.#peers.delete(domainId));
    return await opening;
  }

  async close(): Promise<void> {
    for (const opening of this.#peers.values()) {
      const peer = await opening.catch(() => undefined);
      await peer?.close();
    }
    (await this.#cache)?.close();
  }

  async #loadPlane({ id, published }: Domain): Promise<void> {
    const files = this.#planeFiles.get(id) ?? new CachedPlanes(id, this.filesOf(id), this.#openCache);
    this.#planeFiles.set(id, files);
    const tracker = this.#trackers.get(id) ?? new PlaneTracker(id, files);
    this.#trackers.set(id, tracker);
    if (published === undefined) {
      tracker.distrust(new CorruptDataError('there is no record of what the domain has published'));
      return;
    }
    files.follow(published);
    let change = await tracker.update(published);
    if (!tracker.isCurrent && files.wasUsed) {
      // A domain that has left and joined again may use names once more.
      files.follow(published, true);
      change = await tracker.update(published);
    }
    if (change.kind === 'replaced') this.#planes.set(id, tracker.plane!);
    if (change.kind === 'flips') for (const flips of change.flips) this.#planes.applyFlips(id, flips);
  }

  /** A directory keeps the planes of all members; otherwise the domain itself has them. */
  filesOf(domainId: string): PlaneFiles {
    const { planes } = this.#realm.coordinator;
    if (planes !== undefined) {
      return {
        names: async () => planes.names(domainId),
        read: async (name, limitBytes) => planes.read(domainId, name, limitBytes),
      };
    }
    return {
      names: async () => (await this.peerOf(domainId)).planes.names(),
      read: async (name, limitBytes) => (await this.peerOf(domainId)).planes.read(name, limitBytes),
    };
  }

  readonly #openCache = async (): Promise<AnswerCache | undefined> => (this.#cache ??= openCache(this.#realm));

  #drop(id: string): void {
    this.#planeFiles.delete(id);
    this.#trackers.delete(id);
    this.#planes.remove(id);
  }
}

function asProblem(error: unknown): string {
  if (error instanceof CorruptDataError) return error.message;
  throw error;
}

async function withinDeadline<T>(work: Promise<T>, deadlineMs: number, name: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `the domain ${name} did not answer within ${deadlineMs / 1000} s`;
    timer = setTimeout(() => reject(new PeerError(message, { kind: 'unreachable' })), deadlineMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
