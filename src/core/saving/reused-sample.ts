import { randomBytes } from 'node:crypto';
import { isDamage, isOffline } from '../errors.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Pacer } from '../util/pacer.ts';
import { EntrySet } from '../snapshots/live-walk.ts';

/** Which of the reused chunks are read: part `part` of `of`, decided by their ids, or a random share. */
export type ReusedShare = { readonly part: number; readonly of: number } | { readonly percent: number };

/** The chunks that were read again, and what was wrong. */
export interface VerifiedReuse {
  readonly chunkCount: number;
  readonly bytes: number;
  readonly wrongCount: number;
  /** Hex id of one of the wrong chunks. */
  readonly exampleId: string | undefined;
  /** The packs with wrong chunks. */
  readonly packIds: ReadonlySet<string>;
}

const WORDS = 2 ** 32;

/** Chooses some of the chunks that a backup relies on and has not stored, and verifies them at its end. */
export class ReusedSample {
  readonly #isChosen: (word: number) => boolean;
  readonly #seen = new EntrySet();
  readonly #entries: number[] = [];

  constructor(share: ReusedShare) {
    if ('part' in share) this.#isChosen = (word) => word % share.of === share.part - 1;
    else {
      // The choice of ids cannot be predicted.
      const start = randomBytes(4).readUInt32LE(0);
      this.#isChosen = (word) => (word + start) % WORDS < (share.percent / 100) * WORDS;
    }
  }

  /** Call for each reused chunk, as often as it is. */
  offer(entry: number, ids: Uint8Array, offset: number): void {
    const word = Buffer.from(ids.buffer, ids.byteOffset + offset, 4).readUInt32LE(0);
    if (this.#isChosen(word) && this.#seen.add(entry)) this.#entries.push(entry);
  }

  /** Reads the chosen chunks in the order in which they are stored. Those of a group that is offline cannot be. */
  async verify({ state: { filter, packs }, reader }: OpenedState, pacer: Pacer): Promise<VerifiedReuse> {
    const placed = this.#entries.map((entry) => ({ entry, ...filter.location(entry) }));
    placed.sort((a, b) => a.packIndex - b.packIndex || a.blockOffset - b.blockOffset);
    const wrong: number[] = [];
    const packIds = new Set<string>();
    let bytes = 0;
    for (const { entry, packIndex, lengthBytes } of placed) {
      await pacer.pause();
      bytes += lengthBytes;
      try {
        await reader.verifyEntry(entry);
      } catch (error) {
        if (isOffline(error)) continue;
        if (!isDamage(error)) throw error;
        wrong.push(entry);
        packIds.add(packs.get(packIndex).id);
      }
    }
    const id = Buffer.alloc(CHUNK_ID_BYTES);
    if (wrong[0] !== undefined) filter.copyId(wrong[0], id, 0);
    const exampleId = wrong.length === 0 ? undefined : id.toString('hex');
    return { chunkCount: placed.length, bytes, wrongCount: wrong.length, exampleId, packIds };
  }
}
