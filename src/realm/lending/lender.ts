import { CancelledError, LdmError, RefusedError } from '../../core/errors.ts';
import { CoordinatorError } from '../coordination/realm-errors.ts';
import { ID_BYTES } from '../../core/ldm/positions.ts';
import { MAX_HELD_IDS } from '../agents/peer.ts';
import type { BorrowedChunks } from '../../core/format/borrowed-block.ts';
import type { NamedDomain } from '../../core/format/snapshot-marks.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { NotKeptError } from '../../core/session/extension.ts';
import type { ChunkLender, OfferedChunk } from '../../core/session/extension.ts';
import type { Caller } from '../../core/session/caller.ts';
import type { Domains } from '../domains/domains.ts';
import type { Domain } from '../domains/open-peer.ts';
import { newHoldSecret } from '../agents/hold-secrets.ts';
import { NotOriginalError } from '../domains/own-place.ts';
import { noteHold } from './placed-holds.ts';
import { findDomain } from '../verbs/realm/join.ts';
import { unlessGivenUp } from '../domains/realm.ts';
import type { ConnectedDomains, RealmAccess } from '../domains/realm-access.ts';
import type { OpenRealm } from '../domains/realm.ts';

const DEADLINE_MS = 10_000;
/** A block of borrowed chunks is read as a whole for each of its chunks. */
const CHUNKS_PER_BLOCK = 1024;
/** Less than a block may have. */
const RAW_BYTES_PER_BLOCK = 1024 * 1024 * 1024;

/**
 * The domain of which a backup borrows chunks. What its plane or its filter says only saves questions: a chunk is borrowed
 * if the domain has said that it has it, and has then kept it durably. If it cannot be asked, chunks are stored here.
 */
export class Lender implements ChunkLender {
  readonly #caller: Caller;
  readonly #repository: Repository;
  readonly #realm: OpenRealm;
  readonly #domains: Domains;
  readonly #close: () => Promise<void>;
  readonly #domain: Domain;
  #isGone = false;

  private constructor({ caller, repository }: RealmAccess, connected: ConnectedDomains, domain: Domain) {
    this.#caller = caller;
    this.#repository = repository;
    this.#realm = connected.realm;
    this.#domains = connected.domains;
    this.#close = connected.close;
    this.#domain = domain;
  }

  /**
   * Returns undefined, after a notice, if the realm cannot be reached, or knows this repository at another place.
   * @param named - the name of the domain, or the beginning of its id
   * @throws RefusedError if the repository is in no realm, or there is no such domain
   */
  static async open(access: RealmAccess, named: string): Promise<Lender | undefined> {
    const { caller, repository } = access;
    try {
      return await unlessGivenUp(repository, async () => {
        const connected = await access.connect();
        try {
          return new Lender(access, connected, await findLender(connected, named));
        } catch (error) {
          await connected.close();
          throw error;
        }
      });
    } catch (error) {
      if (!(error instanceof CoordinatorError || error instanceof NotOriginalError)) throw error;
      const mustJoin = error instanceof NotOriginalError;
      caller.onNotice?.({ kind: 'lender-unreachable', domain: named, reason: error.message, mustJoin });
      return undefined;
    }
  }

  get lender(): NamedDomain {
    return { domainId: this.#domain.id, name: this.#domain.member.name };
  }

  mayHave(id: Uint8Array): boolean {
    return !this.#isGone && this.#domains.mayHave(this.#domain, id);
  }

  async has(ids: readonly Uint8Array[]): Promise<readonly boolean[]> {
    if (this.#isGone) return ids.map(() => false);
    try {
      const answers = await this.#domains.ask(this.#domain, Buffer.concat(ids), DEADLINE_MS);
      return answers.map((answer) => answer?.state === 'live');
    } catch (error) {
      this.#giveUp(error);
      return ids.map(() => false);
    }
  }

  async keep(chunks: readonly OfferedChunk[]): Promise<readonly BorrowedChunks[]> {
    const blocks: BorrowedChunks[] = [];
    for (let first = 0; first < chunks.length; first += MAX_HELD_IDS) {
      const part = chunks.slice(first, first + MAX_HELD_IDS);
      blocks.push(...this.#blocksOf(await this.#placeHold(part), part));
    }
    return blocks;
  }

  async close(): Promise<void> {
    await this.#close();
  }

  /** Returns the id of the hold. If it fails, the hold may exist. A later compaction of this repository releases it. */
  async #placeHold(chunks: readonly OfferedChunk[]): Promise<string> {
    const { domainId, membership } = this.#realm;
    try {
      const holdId = await noteHold(this.#repository, this.#domain.id, newHoldSecret());
      const peer = await this.#domains.peerOf(this.#domain.id);
      const kept = await peer.holds.place(
        { domainId, name: membership.name, holdId, isOpen: false },
        Buffer.concat(chunks.map(({ id }) => id)),
      );
      if (kept.length === chunks.length && kept.every((each) => each === 1)) return holdId;
    } catch (error) {
      this.#giveUp(error);
    }
    throw new NotKeptError();
  }

  #blocksOf(holdId: string, chunks: readonly OfferedChunk[]): BorrowedChunks[] {
    const blocks: BorrowedChunks[] = [];
    let part: OfferedChunk[] = [];
    let rawBytes = 0;
    const finish = (): void => {
      if (part.length === 0) return;
      const chunkIds = Buffer.alloc(part.length * ID_BYTES);
      for (const [index, { id }] of part.entries()) chunkIds.set(id, index * ID_BYTES);
      const chunkLengths = Uint32Array.from(part, ({ lengthBytes }) => lengthBytes);
      blocks.push({ domainId: this.#domain.id, holdId, chunkIds, chunkLengths });
      [part, rawBytes] = [[], 0];
    };
    for (const chunk of chunks) {
      if (part.length === CHUNKS_PER_BLOCK || rawBytes + chunk.lengthBytes > RAW_BYTES_PER_BLOCK) finish();
      part.push(chunk);
      rawBytes += chunk.lengthBytes;
    }
    finish();
    return blocks;
  }

  #giveUp(error: unknown): void {
    if (!(error instanceof LdmError) || error instanceof CancelledError) throw error;
    this.#isGone = true;
    const { name: domain } = this.#domain.member;
    this.#caller.onNotice?.({ kind: 'lender-unreachable', domain, reason: error.message, mustJoin: false });
  }
}

async function findLender({ realm, domains }: ConnectedDomains, named: string): Promise<Domain> {
  await domains.assertOriginal();
  const id = findDomain(named, await realm.records.members());
  if (id === realm.domainId) throw new RefusedError(`${named} is this repository, which cannot rely on itself`);
  const found = domains.all.find((domain) => domain.id === id);
  if (found === undefined) throw new RefusedError(`the records of the domain ${named} are damaged`);
  // Of each new chunk, in the middle of a backup, its plane is asked: that must not wait for an agent.
  await domains.loadPlanes([found]);
  return found;
}
