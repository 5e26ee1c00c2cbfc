import { isDeepStrictEqual } from 'node:util';
import { CorruptDataError } from '../errors.ts';
import type { PackContents } from '../format/pack.ts';
import { forEachChunk } from '../format/packed-block.ts';
import type { ChunkLocation } from './entry-table.ts';
import { BLOCK_OFFSET, LENGTH, OFFSET_IN_BLOCK, PACK, STORED } from './entry-table.ts';
import type { FilterState } from './filter-state.ts';
import { packInfoOf, takesPrecedence } from './pack-table.ts';
import { ID_WORDS, readIdWords } from './positions.ts';

/**
 * Compares the chunks of a state and their locations with the folded segments, so that no backup relies on a chunk that
 * no pack contains.
 *
 * Looking up every chunk would cost several cache misses each. Instead, each pack has two sums of hashes over the
 * entries that refer to it. The same sums over its segment are subtracted, and equal sets leave 0. The sets differ
 * legitimately only if two packs contain a chunk, because its entry refers to one of them; such packs are then compared
 * chunk by chunk.
 */
export class LocationCheck {
  readonly #state: FilterState;
  readonly #sums: Uint32Array;
  /** Number of entries that refer to each pack. */
  readonly #entryCounts: Uint32Array;
  readonly #id: Uint32Array = new Uint32Array(ID_WORDS);

  /** Requires a state as it was loaded: the indexes of its packs have no gaps. */
  constructor(state: FilterState) {
    this.#state = state;
    this.#sums = new Uint32Array(state.packs.count * 2);
    this.#entryCounts = new Uint32Array(state.packs.count);
    state.filter.forEachEntryWords((page, base) => {
      const pack = page[base + PACK]!;
      const offsetInBlock = page[base + OFFSET_IN_BLOCK]!;
      const hash = hashOf(page, base, page[base + BLOCK_OFFSET]!, offsetInBlock, page[base + LENGTH]!);
      this.#add(pack, mix(hash, page[base + STORED]!), 1);
      this.#entryCounts[pack]! += 1;
    });
  }

  /**
   * Compares a pack as listed in a segment or in its own footer. Must be called once for each pack.
   * @throws CorruptDataError
   */
  verify(pack: PackContents): void {
    const { packs, absentPacks } = this.#state;
    const index = packs.find(pack.id);
    if (index === undefined) {
      if (!absentPacks.has(pack.id)) fail(`it lacks pack ${pack.id}`);
      return;
    }
    if (!isDeepStrictEqual(packs.get(index), packInfoOf(pack))) fail(`it describes pack ${pack.id} differently`);
    this.#subtract(pack, index);
    if (this.#sums[2 * index] !== 0 || this.#sums[2 * index + 1] !== 0) this.#compare(pack, index);
  }

  #subtract(pack: PackContents, index: number): void {
    for (const block of pack.blocks) {
      forEachChunk(block, (idOffset, offsetInBlock, lengthBytes, storedBytes) => {
        readIdWords(block.chunkIds, idOffset, this.#id);
        const hash = hashOf(this.#id, 0, block.offset, offsetInBlock, lengthBytes);
        this.#add(index, mix(hash, storedBytes), -1);
      });
    }
  }

  /**
   * Compares a pack chunk by chunk: each chunk is located here, earlier in this pack, or in a pack that takes precedence.
   */
  #compare(pack: PackContents, index: number): void {
    let hereCount = 0;
    for (const block of pack.blocks) {
      forEachChunk(block, (idOffset, offsetInBlock, lengthBytes, storedBytes) => {
        const location = { packIndex: index, blockOffset: block.offset, offsetInBlock, lengthBytes, storedBytes };
        if (this.#isHere(block.chunkIds, idOffset, location)) hereCount += 1;
      });
    }
    if (hereCount !== this.#entryCounts[index]) fail(`it has chunks that are not in pack ${pack.id}`);
  }

  /**
   * Whether the entry of a chunk refers to this location. It may refer to another copy only if that one takes
   * precedence.
   */
  #isHere(ids: Uint8Array, offset: number, here: ChunkLocation): boolean {
    const { filter, packs } = this.#state;
    const entry = filter.find(ids, offset);
    const pack = packs.get(here.packIndex);
    const packId = pack.id;
    if (entry < 0) return fail(`it lacks a chunk of pack ${packId}`);
    const found = filter.location(entry);
    if (found.packIndex !== here.packIndex) {
      if (takesPrecedence(pack, packs.get(found.packIndex)))
        fail(`it has another location of a chunk in pack ${packId}`);
      return false;
    }
    const distance = found.blockOffset - here.blockOffset || found.offsetInBlock - here.offsetInBlock;
    const isSame = found.lengthBytes === here.lengthBytes && found.storedBytes === here.storedBytes;
    if (distance > 0 || (distance === 0 && !isSame)) fail(`it has another location of a chunk in pack ${packId}`);
    return distance === 0;
  }

  #add(pack: number, hash: number, sign: 1 | -1): void {
    this.#sums[2 * pack]! += sign * hash;
    this.#sums[2 * pack + 1]! += sign * Math.imul(hash, hash | 1);
  }
}

function hashOf(
  words: Uint32Array,
  at: number,
  blockOffset: number,
  offsetInBlock: number,
  lengthBytes: number,
): number {
  let hash = 0;
  for (let word = at; word < at + ID_WORDS; word += 1) hash = mix(hash, words[word]!);
  return mix(mix(mix(hash, blockOffset), offsetInBlock), lengthBytes);
}

/** Injective in either argument, so that a change of a single number is always detected. */
function mix(hash: number, value: number): number {
  const mixed = Math.imul(hash ^ value, 0x85eb_ca6b);
  return mixed ^ (mixed >>> 15);
}

function fail(problem: string): never {
  throw new CorruptDataError(`checkpoint: it does not match the segments: ${problem}`);
}
