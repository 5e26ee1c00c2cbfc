import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { CorruptDataError } from '../errors.ts';
import {
  CHECKPOINT_DIGEST_BYTES,
  CHECKPOINT_HEADER_BYTES,
  CHECKPOINT_PACK_BYTES,
  checkpointBytes,
  decodeCheckpointHeader,
  decodeCheckpointPacks,
  decodeCheckpointSnapshots,
  decodeFileIds,
} from '../format/checkpoint.ts';
import type { CheckpointHeader } from '../format/checkpoint.ts';
import { CHUNK_ID_BYTES, FILE_ID_BYTES } from '../format/constants.ts';
import { ENTRY_WORDS, PAGE_ENTRIES } from './entry-table.ts';
import { FilterState } from './filter-state.ts';
import { MAX_HASHES, predictedRate } from './formulas.ts';
import type { FilterPlan } from './formulas.ts';
import { checkParts } from './image-check.ts';
import type { ImageParts } from './image-check.ts';
import { bytesOver, refuseBigEndian } from './image-words.ts';
import { LdmFilter } from './ldm-filter.ts';

/** A checkpoint to read; `readRange` fills `target` completely from `offset`. */
export interface ImageSource {
  readonly sizeBytes: number;
  readRange(offset: number, target: Uint8Array): Promise<void>;
}

const WHAT = 'checkpoint';
const PIECE_BYTES = 4 * 1024 * 1024;

/**
 * Reads an image and returns the state that was written. The bytes go directly into the arrays of the filter and are
 * hashed on the way. Nothing is allocated before the header is known to match the file size.
 * @throws CorruptDataError if any byte has changed, or if no state can have this content
 * @throws UnsupportedFormatError if the version is unknown
 */
export async function readImage(source: ImageSource): Promise<FilterState> {
  refuseBigEndian();
  const reader = new ImageReader(source);
  const header = await readHeader(reader, source.sizeBytes);
  const segments = await reader.bytes(header.segmentCount * FILE_ID_BYTES);
  const absentPacks = await reader.bytes(header.absentPackCount * FILE_ID_BYTES);
  const snapshots = await reader.bytes(header.snapshotsBytes);
  const packs = await reader.bytes(header.packCount * CHECKPOINT_PACK_BYTES);
  const parts = await readParts(reader, header);
  await reader.checkDigest();
  checkParts(parts, header.packCount);
  const state = new FilterState(LdmFilter.restore(parts));
  for (const id of decodeFileIds(segments)) state.segments.add(id);
  for (const id of decodeFileIds(absentPacks)) state.absentPacks.add(id);
  for (const { id, tree, manifest } of decodeCheckpointSnapshots(snapshots, header.snapshotCount, WHAT)) {
    state.snapshots.set(id, { tree, manifest });
  }
  for (const pack of decodeCheckpointPacks(packs, WHAT)) state.packs.addInfo(pack);
  refuseDuplicates(state, header);
  return state;
}

/** Rejects duplicate ids, because a duplicate pack would shift the indexes of all packs after it. */
function refuseDuplicates(state: FilterState, header: CheckpointHeader): void {
  const isEachOnce =
    state.segments.size === header.segmentCount &&
    state.absentPacks.size === header.absentPackCount &&
    state.snapshots.size === header.snapshotCount &&
    state.packs.count === header.packCount;
  if (!isEachOnce) throw new CorruptDataError(`${WHAT}: it contains an id twice`);
  const { filter } = state;
  const id = new Uint8Array(CHUNK_ID_BYTES);
  for (let entry = filter.liveCount; entry < filter.liveCount + filter.deadCount; entry += 1) {
    filter.copyId(entry, id, 0);
    if (filter.find(id, 0) !== entry)
      throw new CorruptDataError(`${WHAT}: entry ${entry} is dead, but its chunk is live`);
  }
}

async function readHeader(reader: ImageReader, sizeBytes: number): Promise<CheckpointHeader> {
  if (sizeBytes < CHECKPOINT_HEADER_BYTES + CHECKPOINT_DIGEST_BYTES) {
    throw new CorruptDataError(`${WHAT}: too short (${sizeBytes} bytes)`);
  }
  const header = decodeCheckpointHeader(await reader.bytes(CHECKPOINT_HEADER_BYTES), WHAT);
  if (checkpointBytes(header) !== sizeBytes) {
    throw new CorruptDataError(`${WHAT}: ${sizeBytes} bytes long, but the header says ${checkpointBytes(header)}`);
  }
  if (header.counterBytes !== Math.ceil(header.positions / 2)) {
    throw new CorruptDataError(`${WHAT}: the numbers in its header are inconsistent`);
  }
  return header;
}

async function readParts(reader: ImageReader, header: CheckpointHeader): Promise<ImageParts> {
  const counters = await reader.bytes(header.counterBytes);
  const heads = await reader.words(header.liveHeadCount);
  const deadHeads = await reader.words(header.deadHeadCount);
  const entryCount = header.liveCount + header.deadCount;
  const pages: Uint32Array[] = [];
  for (let start = 0; start < entryCount; start += PAGE_ENTRIES) {
    pages.push(await reader.words(Math.min(PAGE_ENTRIES, entryCount - start) * ENTRY_WORDS));
  }
  const { liveCount, deadCount } = header;
  // An image contains a complete state, in which no chunk is missing.
  return { plan: planOf(header), liveCount, deadCount, missingCount: 0, counters, heads, deadHeads, pages };
}

function planOf({ capacity, hashes, positions, fprTarget }: CheckpointHeader): FilterPlan {
  // The prediction takes time in proportion to the hashes, and `checkParts` has yet to refuse an impossible number.
  const fprPredicted = hashes > MAX_HASHES ? 1 : predictedRate(positions, capacity, hashes);
  return { capacity, hashes, positions, fprTarget, fprPredicted };
}

/** Reads an image from start to end and hashes it. */
class ImageReader {
  readonly #source: ImageSource;
  readonly #digest: Hash = createHash('sha256');
  #offset = 0;

  constructor(source: ImageSource) {
    this.#source = source;
  }

  async bytes(length: number): Promise<Uint8Array> {
    const target = new Uint8Array(length);
    await this.#fill(target);
    return target;
  }

  async words(length: number): Promise<Uint32Array> {
    const target = new Uint32Array(length);
    await this.#fill(bytesOver(target));
    return target;
  }

  async checkDigest(): Promise<void> {
    const stored = Buffer.alloc(CHECKPOINT_DIGEST_BYTES);
    await this.#source.readRange(this.#offset, stored);
    if (!this.#digest.digest().equals(stored)) throw new CorruptDataError(`${WHAT}: wrong SHA-256`);
  }

  async #fill(target: Uint8Array): Promise<void> {
    for (let start = 0; start < target.length; start += PIECE_BYTES) {
      const piece = target.subarray(start, start + PIECE_BYTES);
      await this.#source.readRange(this.#offset, piece);
      this.#digest.update(piece);
      this.#offset += piece.length;
    }
  }
}
