import type { Domain } from './open-peer.ts';
import { CorruptDataError } from '../../core/errors.ts';
import { PeerError } from '../coordination/realm-errors.ts';
import { ID_BYTES } from '../../core/ldm/positions.ts';
import { planeVerdict } from '../planes/held-planes.ts';
import type { HeldPlane, PlaneVerdict } from '../planes/held-planes.ts';
import { KeptPlanes } from '../planes/kept-planes.ts';
import { MAX_ASKED_IDS } from '../agents/peer.ts';
import type { Answer, Peer, PlaneFiles } from '../agents/peer.ts';
import { CachedAnswers } from '../agents/cached-answers.ts';
import type { AnswerCache } from '../agents/answer-cache.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { openPeer } from './open-peer.ts';
import { OwnAgent } from './own-agent.ts';
import { openCache } from './realm-cache.ts';
import { assertOriginal, whyNotOriginal } from './own-place.ts';
import type { OpenRealm } from './realm.ts';

/** The other members of a realm: their planes, and connections to them, which are made when they are needed. */
export class Domains {
  /** How many chunks other domains were asked about. */
  questionCount = 0;
  readonly #context: OperationContext;
  readonly #realm: OpenRealm;
  readonly #planes: KeptPlanes;
  readonly #ownAgent: OwnAgent;
  readonly #peers = new Map<string, Promise<Peer>>();
  #loading: Promise<void> | undefined;
  #cache: Promise<AnswerCache | undefined> | undefined;
  #all: readonly Domain[] = [];
  #unknown: ReadonlyMap<string, string> = new Map();

  constructor(context: OperationContext, realm: OpenRealm) {
    this.#context = context;
    this.#realm = realm;
    this.#planes = new KeptPlanes((id) => this.filesOf(id), this.#openCache);
    this.#ownAgent = new OwnAgent(realm);
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
    const unknown = new Map([...damaged].map(([id, reason]) => [id.slice(0, 8), reason]));
    // Records that lack this domain's may lack others: the disk with the directory may not be mounted.
    const own = members.get(domainId)?.value;
    if (own === undefined) unknown.set('realm', 'it does not know this repository');
    // A copy does not know what the original has.
    const reason = own && whyNotOriginal(own, this.#context.backend);
    if (reason !== undefined) unknown.set('realm', reason);
    this.#unknown = unknown;
    this.#planes.retain(new Set(all.map(({ id }) => id)));
  }

  /**
   * Loads what these domains have published, by default all. A plane that cannot be loaded says maybe for everything.
   * From then on, `candidates` asks these planes and not the agent.
   */
  async loadPlanes(domains: readonly Domain[] = this.#all): Promise<void> {
    const load = async ({ id, published }: Domain): Promise<void> => this.#planes.load(id, published);
    this.#loading = Promise.all(domains.map(load)).then(() => undefined);
    await this.#loading;
  }

  /** Whether the plane that was loaded is what the domain has published last. Only then, it can say no. */
  isCurrent({ id, published }: Domain): boolean {
    return this.#planes.isCurrent(id, published);
  }

  /** Why the plane that the domain has published last could not be loaded. */
  planeProblem({ id }: Domain): string | undefined {
    return this.#planes.problemOf(id);
  }

  /** Whether a domain may have a chunk, by the plane that was loaded. */
  mayHave(domain: Domain, id: Uint8Array): boolean {
    const held = this.#planes.ask(id).find(({ domainId }) => domainId === domain.id);
    return planeVerdict(held, domain.published, 0) !== 'no';
  }

  /** Returns what the planes that were loaded say about ids of 20 bytes, one after another in `ids`. */
  askPlanes(ids: Uint8Array): readonly HeldPlane[] {
    return this.#planes.ask(ids);
  }

  /** Returns what the agent of this domain says in the same way. Undefined: none answers. */
  async askOwnAgent(ids: Uint8Array): Promise<readonly HeldPlane[] | undefined> {
    return await this.#ownAgent.askPlanes(ids);
  }

  /** Returns for each id the domains that may have the chunk, by `verdicts`. */
  async candidates(ids: readonly Uint8Array[]): Promise<Domain[][]> {
    const verdicts = await this.verdicts(ids);
    return verdicts.map((ofId) => this.#all.filter((_, index) => ofId[index] !== 'no'));
  }

  /**
   * Returns for each id what the planes of all domains say, in their order. Unless planes were loaded, it asks this
   * domain's agent, or loads them.
   */
  async verdicts(ids: readonly Uint8Array[]): Promise<PlaneVerdict[][]> {
    const verdicts: PlaneVerdict[][] = [];
    for (let first = 0; first < ids.length; first += MAX_ASKED_IDS) {
      const part = ids.slice(first, first + MAX_ASKED_IDS);
      const planes = await this.#askAnyPlanes(Buffer.concat(part));
      const byDomain = new Map(planes.map((held) => [held.domainId, held]));
      for (const index of part.keys())
        verdicts.push(this.#all.map(({ id, published }) => planeVerdict(byDomain.get(id), published, index)));
    }
    return verdicts;
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

  /**
   * Before holds are placed or ended.
   * @throws NotOriginalError
   * @throws CoordinatorError
   */
  async assertOriginal(): Promise<void> {
    await assertOriginal(this.#context, this.#realm);
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

  async #askAnyPlanes(ids: Uint8Array): Promise<readonly HeldPlane[]> {
    const answer = this.#loading === undefined ? await this.#ownAgent.askPlanes(ids) : undefined;
    if (answer !== undefined) return answer;
    await (this.#loading ?? this.loadPlanes());
    return this.#planes.ask(ids);
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
