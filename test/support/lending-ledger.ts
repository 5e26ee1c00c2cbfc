import { decodeSegment } from '../../src/core/format/segment.ts';
import { decodeSnapshot } from '../../src/core/format/snapshot.ts';
import type { Snapshot } from '../../src/core/format/snapshot.ts';
import { filesIn } from './damage.ts';
import type { Pair, Side } from './lending-model.ts';
import { readNeededChunks } from './needed-chunks.ts';

interface Available {
  /** Hex ids of the chunks in indexed packs that exist. */
  readonly here: Set<string>;
  /** The same, of borrowed chunks. */
  readonly borrowed: Set<string>;
}

interface ListedPack {
  readonly id: string;
  readonly isBorrowed: boolean;
  readonly chunkIds: readonly string[];
}

/** What the holder has reported, and whether the two domains together still have it. */
export class LendingLedger {
  readonly #pair: Pair;
  readonly #promised = new Map<string, ReadonlySet<string>>();
  readonly #released = new Set<string>();
  readonly #segments = new Map<string, readonly ListedPack[]>();
  readonly #manifests = new Map<string, Snapshot>();
  borrowedCount = 0;
  loss: string | undefined;

  constructor(pair: Pair) {
    this.#pair = pair;
  }

  /** The ids of the snapshots of a side that are no holds. */
  backupsOf(side: Side): string[] {
    const names = this.#pair[side].names().filter((name) => name.startsWith('snapshots/'));
    return names.filter((name) => this.#manifest(side, name).hold === undefined).map((name) => name.slice(10));
  }

  isReleased(id: string): boolean {
    return this.#released.has(this.#madeAs(id));
  }

  release(id: string): void {
    const madeAs = this.#madeAs(id);
    this.#released.add(madeAs);
    this.#promised.delete(madeAs);
  }

  /** Nothing else may run meanwhile. */
  async promise(id: string): Promise<void> {
    const madeAs = this.#madeAs(id);
    // If its lock was lost, an adoption may have replaced the manifest already.
    const now = this.backupsOf('holder').find((each) => this.#madeAs(each) === madeAs);
    if (now === undefined) {
      this.loss ??= `snapshot ${id} was reported and does not exist`;
      return;
    }
    const { tree } = this.#manifest('holder', `snapshots/${now}`);
    const { needed, missing } = await readNeededChunks(this.#pair.holder, tree);
    if (missing.length > 0) this.loss ??= `snapshot ${id} was reported without chunk ${missing[0]}`;
    const { here } = this.#available('holder');
    if ([...needed].some((chunk) => !here.has(chunk))) this.borrowedCount += 1;
    this.#promised.set(madeAs, needed);
    this.verify('report');
  }

  /** `what`: what has just changed something. */
  verify(what: string): void {
    if (this.#promised.size === 0) return;
    const holder = this.#available('holder');
    const owner = this.#available('owner');
    for (const [id, chunkIds] of this.#promised) {
      const isThere = (chunk: string): boolean =>
        holder.here.has(chunk) || (holder.borrowed.has(chunk) && owner.here.has(chunk));
      const lost = [...chunkIds].find((chunk) => !isThere(chunk));
      if (lost === undefined) continue;
      const where = holder.borrowed.has(lost) ? 'of the owner' : 'of its own';
      this.loss ??= `snapshot ${id} lost chunk ${lost} ${where} by: ${what}`;
    }
  }

  #madeAs(id: string): string {
    const isThere = this.#pair.holder.peek(`snapshots/${id}`) !== undefined;
    const known = this.#manifests.get(`holder snapshots/${id}`);
    return (isThere ? this.#manifest('holder', `snapshots/${id}`) : known)?.original ?? id;
  }

  #manifest(side: Side, name: string): Snapshot {
    const key = `${side} ${name}`;
    const known = this.#manifests.get(key);
    if (known !== undefined) return known;
    const manifest = decodeSnapshot(this.#pair[side].peek(name)!);
    this.#manifests.set(key, manifest);
    return manifest;
  }

  #available(side: Side): Available {
    const available = { here: new Set<string>(), borrowed: new Set<string>() };
    const disk = this.#pair[side];
    for (const segment of filesIn(disk, 'index')) {
      for (const { id, isBorrowed, chunkIds } of this.#packsIn(side, segment)) {
        if (disk.peek(`packs/${id.slice(0, 2)}/${id}`) === undefined) continue;
        for (const chunkId of chunkIds) available[isBorrowed ? 'borrowed' : 'here'].add(chunkId);
      }
    }
    return available;
  }

  #packsIn(side: Side, name: string): readonly ListedPack[] {
    const key = `${side} ${name}`;
    const known = this.#segments.get(key);
    if (known !== undefined) return known;
    const packs = decodeSegment(this.#pair[side].view(name)).map(({ id, blocks }) => ({
      id,
      isBorrowed: blocks[0]?.codec === 'borrowed',
      chunkIds:
        Buffer.concat(blocks.map(({ chunkIds }) => chunkIds))
          .toString('hex')
          .match(/.{40}/g) ?? [],
    }));
    this.#segments.set(key, packs);
    return packs;
  }
}
