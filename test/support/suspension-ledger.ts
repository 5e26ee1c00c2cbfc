import { decodeSegment } from '../../src/core/format/segment.ts';
import { decodeSnapshot } from '../../src/core/format/snapshot.ts';
import type { Snapshot } from '../../src/core/format/snapshot.ts';
import { currentListings } from '../../src/core/repository/read-snapshots.ts';
import { check } from '../../src/verbs/check/check.ts';
import { listSnapshots } from '../../src/verbs/snapshots/snapshots.ts';
import { filesIn } from './damage.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { copyWithoutLocks, readNeededChunks } from './needed-chunks.ts';
import type { ModelProcess } from './scheduled-process.ts';
import { optionsOfTests } from './simulated-process.ts';

/** What was promised about a snapshot. */
interface Promised {
  /** Hex ids of the chunks that it needs. */
  readonly chunkIds: ReadonlySet<string>;
  /** It was deleted so that this can be undone. */
  readonly isDeleted: boolean;
}

/**
 * What the processes of a suspension model have reported. Snapshots are known by the id with which they were made, since
 * a change of tags and a delete for a time put another manifest in the place of the first.
 */
export class SuspensionLedger {
  readonly #disk: MemoryBackend;
  readonly #promised = new Map<string, Promised>();
  /** How often each snapshot was chosen to be deleted. */
  readonly #deletes = new Map<string, number>();
  readonly #segments = new Map<string, ReadonlyMap<string, readonly string[]>>();
  readonly #manifests = new Map<string, Snapshot>();
  loss: string | undefined;
  alarm: string | undefined;

  constructor(disk: MemoryBackend) {
    this.#disk = disk;
  }

  idsIn(directory: string): string[] {
    const names = this.#disk.names().filter((name) => name.startsWith(`${directory}/`));
    return names.map((name) => name.slice(directory.length + 1));
  }

  /** The manifest of a snapshot that is in snapshots/ or deleted/, or was when it was asked for first. */
  manifestOf(id: string): Snapshot | undefined {
    if (this.#manifests.has(id)) return this.#manifests.get(id);
    const bytes = this.#disk.peek(`snapshots/${id}`) ?? this.#disk.peek(`deleted/${id}`);
    if (bytes !== undefined) this.#manifests.set(id, decodeSnapshot(bytes));
    return this.#manifests.get(id);
  }

  /** The snapshots that are not deleted, under the ids with which they were made. */
  present(): { readonly madeAs: string; readonly timeMs: number }[] {
    const listings = this.idsIn('snapshots').map((id) => ({ id, snapshot: this.manifestOf(id)! }));
    return currentListings(listings)
      .filter(({ snapshot }) => snapshot.deletedUntil === undefined)
      .map(({ id, snapshot }) => ({ madeAs: this.#madeAs(id), timeMs: Date.parse(snapshot.time) }));
  }

  isPromised(id: string): boolean {
    return this.#promised.has(this.#madeAs(id));
  }

  /** An operation has chosen the snapshot to be deleted, or may choose it: from now on it may be gone. */
  release(id: string): void {
    const madeAs = this.#madeAs(id);
    this.#promised.delete(madeAs);
    this.#deletes.set(madeAs, this.deletesOf(id) + 1);
  }

  deletesOf(id: string): number {
    return this.#deletes.get(this.#madeAs(id)) ?? 0;
  }

  /** Reads what a snapshot needs, at one moment: nothing else may run meanwhile. */
  async promise(id: string): Promise<void> {
    const manifest = this.manifestOf(id);
    const isDeleted = manifest?.deletedUntil !== undefined;
    if (manifest === undefined || !this.#isThere(this.#madeAs(id), isDeleted)) {
      this.loss ??= `snapshot ${id} was reported and does not exist`;
      return;
    }
    const chunkIds = await this.#readNeeds(id, manifest.tree);
    this.#promised.set(this.#madeAs(id), { chunkIds, isDeleted });
  }

  /** `kind`: what has just changed something. */
  verify(kind: string): void {
    const available = this.#availableChunks();
    for (const [madeAs, { chunkIds, isDeleted }] of this.#promised) {
      if (!this.#isThere(madeAs, isDeleted))
        this.loss ??= `snapshot ${madeAs}, which was reported, is gone by a ${kind}`;
      const lost = [...chunkIds].find((chunk) => !available.has(chunk));
      if (lost !== undefined) this.loss ??= `snapshot ${madeAs} lost chunk ${lost} by a ${kind}`;
    }
  }

  /** Where no lock was lost and listings are up to date, no snapshot is listed twice, whatever was killed. */
  async verifySingle(): Promise<void> {
    const context = { backend: copyWithoutLocks(this.#disk), ...optionsOfTests() };
    const listings = [...(await listSnapshots(context)), ...(await listSnapshots(context, { deleted: true }))];
    const madeAs = listings.map(({ id }) => this.#madeAs(id));
    const double = madeAs.find((id, index) => madeAs.indexOf(id) !== index);
    if (double !== undefined) this.loss ??= `snapshot ${double} is listed twice`;
  }

  /** After an operation has called something damaged: whoever sees everything as it is must find an error, too. */
  async verifyDamaged(process: ModelProcess, error: Error): Promise<void> {
    process.isReporting = true;
    const { findings } = await check({ backend: copyWithoutLocks(this.#disk), ...optionsOfTests() });
    process.isReporting = false;
    if (!findings.some(({ severity }) => severity === 'error')) this.alarm ??= `${process.kind} failed: ${error.stack}`;
  }

  /** After all operations: only snapshots that were not reported may be damaged, by the loss of their chunks. */
  async verifyHealed(): Promise<void> {
    const { findings } = await check({ backend: copyWithoutLocks(this.#disk), ...optionsOfTests() });
    const found = findings.find(({ severity, kind }) => severity === 'error' && kind !== 'chunk-missing');
    if (found !== undefined) this.alarm ??= `in the end, check finds ${JSON.stringify(found)}`;
  }

  #madeAs(id: string): string {
    return this.manifestOf(id)?.original ?? id;
  }

  #isThere(madeAs: string, isDeleted: boolean): boolean {
    return this.idsIn('snapshots').some(
      (id) => this.#madeAs(id) === madeAs && (isDeleted || this.manifestOf(id)?.deletedUntil === undefined),
    );
  }

  async #readNeeds(id: string, tree: string): Promise<ReadonlySet<string>> {
    const { needed, missing } = await readNeededChunks(this.#disk, tree);
    if (missing.length > 0) this.loss ??= `snapshot ${id} was reported without chunk ${missing[0]}`;
    return needed;
  }

  #availableChunks(): ReadonlySet<string> {
    const available = new Set<string>();
    for (const segment of filesIn(this.#disk, 'index')) {
      for (const [packId, chunkIds] of this.#readSegment(segment)) {
        if (this.#disk.peek(`packs/${packId.slice(0, 2)}/${packId}`) === undefined) continue;
        for (const id of chunkIds) available.add(id);
      }
    }
    return available;
  }

  /** The chunk ids of each pack. */
  #readSegment(name: string): ReadonlyMap<string, readonly string[]> {
    const known = this.#segments.get(name);
    if (known !== undefined) return known;
    const packs = new Map<string, string[]>();
    for (const { id, blocks } of decodeSegment(this.#disk.view(name))) {
      const text = Buffer.concat(blocks.map(({ chunkIds }) => chunkIds)).toString('hex');
      packs.set(id, text.match(/.{40}/g) ?? []);
    }
    this.#segments.set(name, packs);
    return packs;
  }
}
