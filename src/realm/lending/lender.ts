import { CancelledError, LdmError, RefusedError } from '../../core/errors.ts';
import { CoordinatorError } from '../coordination/realm-errors.ts';
import { ID_BYTES } from '../../core/ldm/positions.ts';
import { MAX_HELD_IDS } from '../agents/peer.ts';
import type { BorrowedChunks } from '../../core/format/borrowed-block.ts';
import type { NamedDomain } from '../../core/format/snapshot-marks.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { NotKeptError } from '../../core/saving/offered-chunks.ts';
import type { ChunkLender, OfferedChunk } from '../../core/session/extension.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { Domains } from '../domains/domains.ts';
import type { Domain } from '../domains/open-peer.ts';
import { newHoldSecret } from '../agents/hold-secrets.ts';
import { NotOriginalError, assertOriginal } from '../domains/own-place.ts';
import { noteHold } from './placed-holds.ts';
import { findDomain } from '../verbs/realm/join.ts';
import { connectRealm, readRealm, unlessGivenUp } from '../domains/realm.ts';
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
  readonly #context: OperationContext;
  readonly #repository: Repository;
  readonly #realm: OpenRealm;
  readonly #domains: Domains;
  readonly #domain: Domain;
  #isGone = false;

  private constructor(given: {
    readonly context: OperationContext;
    readonly repository: Repository;
    readonly realm: OpenRealm;
    readonly domains: Domains;
    readonly domain: Domain;
  }) {
    this.#context = given.context;
    this.#repository = given.repository;
    this.#realm = given.realm;
    this.#domains = given.domains;
    this.#domain = given.domain;
  }

  /**
   * Returns undefined, after a notice, if the realm cannot be reached, or knows this repository at another place.
   * @param named - the name of the domain, or the beginning of its id
   * @throws RefusedError if the repository is in no realm, or there is no such domain
   */
  static async open(context: OperationContext, repository: Repository, named: string): Promise<Lender | undefined> {
    try {
      return await unlessGivenUp(repository, async () => Lender.#connect(context, repository, named));
    } catch (error) {
      if (!(error instanceof CoordinatorError || error instanceof NotOriginalError)) throw error;
      const mustJoin = error instanceof NotOriginalError;
      context.onNotice?.({ kind: 'lender-unreachable', domain: named, reason: error.message, mustJoin });
      return undefined;
    }
  }

  static async #connect(context: OperationContext, repository: Repository, named: string): Promise<Lender> {
    const realm = await connectRealm(await readRealm(repository));
    const domains = new Domains(context, realm);
    try {
      await assertOriginal(context, realm);
      return new Lender({ context, repository, realm, domains, domain: await findLender(realm, domains, named) });
    } catch (error) {
      await domains.close();
      await realm.coordinator.close();
      throw error;
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
    await this.#domains.close();
    await this.#realm.coordinator.close();
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
    this.#context.onNotice?.({ kind: 'lender-unreachable', domain, reason: error.message, mustJoin: false });
  }
}

async function findLender(realm: OpenRealm, domains: Domains, named: string): Promise<Domain> {
  await domains.readRecords();
  const id = findDomain(named, await realm.records.members());
  if (id === realm.domainId) throw new RefusedError(`${named} is this repository, which cannot rely on itself`);
  const found = domains.all.find((domain) => domain.id === id);
  if (found === undefined) throw new RefusedError(`the records of the domain ${named} are damaged`);
  // Of each new chunk, in the middle of a backup, its plane is asked: that must not wait for an agent.
  await domains.loadPlanes([found]);
  return found;
}
