import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { LdmError } from '../../src/core/errors.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { withRepository } from '../../src/core/session/session.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { adopt } from '../../src/realm/verbs/adopt/adopt.ts';
import { Domains } from '../../src/realm/domains/domains.ts';
import { locate } from '../../src/realm/verbs/locate/locate.ts';
import { lookUp } from '../../src/realm/verbs/locate/look-up.ts';
import type { LookedUp } from '../../src/realm/verbs/locate/look-up.ts';
import { withRealm } from '../../src/realm/domains/realm.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { ALL } from './lending-pair.ts';
import type { Member, TestRealm } from './lending-pair.ts';
import type { Prng } from './prng.ts';
import { damagePlane, whileAway } from './realm-faults.ts';
import { memoryDirectory } from './temp-directory.ts';

/** Less than the smallest chunk: each file is one chunk. */
const FILE_BYTES = 400;
const POOL_SIZE = 150;
const SNAPSHOTS_MAX = 8;
const FILES_MAX = 12;
const IDS_PER_LOOK_UP = 6;
/** Against a look-up that hangs. */
const DEADLINE_MS = 300_000;

/** What the model knows of a domain. */
interface Domain {
  readonly member: Member;
  /** The chunks of each snapshot, by the id that it had at first. */
  readonly snapshots: Map<string, ReadonlySet<number>>;
  /** Chunks that may be here, live or dead. All others are certainly not. */
  possible: Set<number>;
  /** Chunks that may be held for others. */
  held: Set<number>;
}

/** Random operations of the domains of a realm, and Maps and Sets that say which chunks the realm has. */
export class RealmModel {
  readonly counts: Map<string, number> = new Map();
  readonly #realm: TestRealm;
  readonly #prng: Prng;
  readonly #domains: readonly Domain[];
  readonly #contents: readonly Buffer[];
  #ids: readonly Uint8Array[] = [];
  /** Chunks that some snapshot had at some time. */
  readonly #known = new Set<number>();
  #backupCount = 0;

  constructor(realm: TestRealm, members: readonly Member[], prng: Prng) {
    this.#realm = realm;
    this.#prng = prng;
    this.#domains = members.map((member) => ({
      member,
      snapshots: new Map(),
      possible: new Set(),
      held: new Set(),
    }));
    this.#contents = Array.from({ length: POOL_SIZE }, () => Buffer.from(prng.bytes(FILE_BYTES)));
  }

  async run(stepCount: number): Promise<void> {
    const { context } = this.#domains[0]!.member;
    this.#ids = await withRepository(context, 'read', async ({ hasher }) =>
      this.#contents.map((bytes) => Uint8Array.from(hasher.dataId(bytes))),
    );
    for (let step = 0; step < stepCount; step += 1) {
      try {
        await this.#step();
      } catch (error) {
        throw new Error(`step ${step}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
      }
    }
    await this.#verifyAll();
  }

  async #step(): Promise<void> {
    const prng = this.#prng;
    const domain = prng.pick(this.#domains);
    const choice = prng.int(20);
    if (choice < 9) return await this.#lookUpSomehow(domain);
    if (choice === 9) return this.#count(damagePlane(this.#realm.coordinator, prng) ?? 'no plane');
    if (prng.int(4) > 0) return await this.#change(domain);
    this.#count('publication-lost');
    await whileAway(this.#realm.coordinator, async () => this.#change(domain));
  }

  async #change(domain: Domain): Promise<void> {
    const { context } = domain.member;
    const choice = this.#prng.int(10);
    if (choice < 3 && domain.snapshots.size < SNAPSHOTS_MAX) return await this.#backUp(domain, undefined);
    if (choice < 5 && domain.snapshots.size < SNAPSHOTS_MAX) return await this.#backUp(domain, this.#other(domain));
    if (choice < 7 && domain.snapshots.size > 0) return await this.#delete(domain);
    if (choice < 8) return await this.#adopt(domain);
    if (choice < 9) {
      this.#count('repair');
      return void (await repair(context));
    }
    await this.#compact(domain);
  }

  #other(domain: Domain): Domain {
    return this.#prng.pick(this.#domains.filter((each) => each !== domain));
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  async #backUp(domain: Domain, lender: Domain | undefined): Promise<void> {
    const chunks = new Set(Array.from({ length: 1 + this.#prng.int(FILES_MAX) }, () => this.#prng.int(POOL_SIZE - 20)));
    const source = join(this.#realm.directory, `backup-${(this.#backupCount += 1)}`);
    mkdirSync(source);
    for (const chunk of chunks) writeFileSync(join(source, String(chunk)), this.#contents[chunk]!);
    const options = lender === undefined ? {} : { reliesOn: lender.member.name };
    const { snapshotId, borrowed } = await domain.member.backUp(source, options);
    rmSync(source, { recursive: true });
    domain.snapshots.set(snapshotId!, chunks);
    for (const chunk of chunks) {
      this.#known.add(chunk);
      domain.possible.add(chunk);
      if (borrowed.chunks > 0) lender!.held.add(chunk);
    }
    this.#count(borrowed.chunks > 0 ? 'borrowed' : 'backup');
  }

  async #delete(domain: Domain): Promise<void> {
    const { id, snapshot } = this.#prng.pick(await domain.member.snapshots());
    await deleteSnapshots(domain.member.context, { selectors: [id], reclaim: this.#prng.int(2) === 0 });
    if (!domain.snapshots.delete(snapshot.original ?? id)) throw new Error(`the model has no snapshot ${id}`);
    this.#count('delete');
  }

  async #compact(domain: Domain): Promise<void> {
    await compact(domain.member.context, ALL);
    if ((await domain.member.holds()).length === 0) domain.held = new Set();
    domain.possible = new Set([...domain.held, ...[...domain.snapshots.values()].flatMap((chunks) => [...chunks])]);
    this.#count('compact');
  }

  async #adopt(domain: Domain): Promise<void> {
    try {
      await adopt(domain.member.context);
      this.#count('adopt');
    } catch (error) {
      // The coordinator is away, so the lender is not known.
      if (!(error instanceof LdmError)) throw error;
      this.#count(`adopt ${error.code}`);
    }
  }

  async #lookUpSomehow(viewer: Domain): Promise<void> {
    const chunks = Array.from({ length: IDS_PER_LOOK_UP }, () => this.#prng.int(POOL_SIZE));
    const ask = this.#prng.int(3) === 0 ? 'all' : 'maybe';
    const choice = this.#prng.int(6);
    if (choice === 0) return this.#judge(await this.#afterChange(viewer, chunks, ask), chunks, true);
    const away = choice === 1 ? this.#other(viewer) : undefined;
    const located = async (): Promise<LookedUp[]> => this.#locate(viewer, chunks.slice(0, 2), ask);
    if (away === undefined) return this.#judge(await located(), chunks, true);
    this.#count('repository-away');
    this.#judge(await whileAway(away.member.place, located), chunks, false);
  }

  async #locate(viewer: Domain, chunks: readonly number[], ask: 'maybe' | 'all'): Promise<LookedUp[]> {
    const found: LookedUp[] = [];
    for (const chunk of chunks) {
      const target = Buffer.from(this.#ids[chunk]!).toString('hex');
      await locate(viewer.member.context, { target, ask, deadlineMs: DEADLINE_MS }, (each) => void found.push(each));
    }
    return found;
  }

  /** The planes are loaded, then another domain stores something, and then the look-up begins. */
  async #afterChange(viewer: Domain, chunks: readonly number[], ask: 'maybe' | 'all'): Promise<LookedUp[]> {
    const { context } = viewer.member;
    this.#count('plane-late');
    return await withRepository(context, 'read', async (repository) =>
      withRealm(repository, async (realm) => {
        const domains = new Domains(context, realm);
        try {
          await domains.readRecords();
          await domains.loadPlanes();
          const opened = await repository.openState();
          await this.#backUp(this.#other(viewer), undefined);
          const ids = chunks.map((chunk) => this.#ids[chunk]!);
          return await lookUp(opened, domains, ids, { ask, deadlineMs: DEADLINE_MS });
        } finally {
          await domains.close();
        }
      }),
    );
  }

  #judge(found: readonly LookedUp[], chunks: readonly number[], isAllReachable: boolean): void {
    for (const [index, { verdict, unanswered }] of found.entries()) {
      const chunk = chunks[index]!;
      const isNeeded = this.#domains.some(({ snapshots }) => [...snapshots.values()].some((each) => each.has(chunk)));
      const isPossible = this.#domains.some(({ possible, held }) => possible.has(chunk) || held.has(chunk));
      this.#count(verdict);
      if (verdict === 'absent' && this.#known.has(chunk)) this.#count('removed');
      if (!isNeeded && isPossible) this.#count('uncertain');
      const isWrong =
        (verdict === 'absent' && isNeeded) ||
        (verdict === 'found' && !isPossible) ||
        (verdict === 'unknown' && isAllReachable);
      if (isWrong)
        throw new Error(
          `chunk ${chunk} is ${verdict}: ${JSON.stringify({ isNeeded, isPossible, unanswered: [...unanswered] })}`,
        );
    }
  }

  /** Every snapshot is there and gives its files back, and every byte of every domain is right. */
  async #verifyAll(): Promise<void> {
    for (const { member, snapshots } of this.#domains) {
      const listed = await member.snapshots();
      if (listed.length !== snapshots.size) throw new Error(`${member.name} has ${listed.length} snapshots`);
      for (const { id, snapshot } of listed) {
        const target = memoryDirectory();
        await restore(member.context, { selector: id, target });
        this.#verifyFiles(target, snapshots.get(snapshot.original ?? id)!);
      }
      const findings = await member.findings();
      if (findings.length > 0) throw new Error(`${member.name}: ${findings.join(', ')}`);
    }
  }

  #verifyFiles(target: string, chunks: ReadonlySet<number>): void {
    const entries = readdirSync(target, { recursive: true, withFileTypes: true, encoding: 'utf8' });
    const files = entries.filter((entry) => entry.isFile());
    const isRight = files.every(
      ({ name, parentPath }) =>
        chunks.has(Number(name)) && readFileSync(join(parentPath, name)).equals(this.#contents[Number(name)]!),
    );
    if (files.length !== chunks.size || !isRight) throw new Error(`${target} is not what was backed up`);
  }
}
