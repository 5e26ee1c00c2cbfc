import { BackendError, isDiskFull } from '../../core/errors.ts';
import { blockBytes } from '../../core/format/block.ts';
import {
  PACK_FOOTER_BLOCK_BYTES,
  PACK_FOOTER_CHUNK_BYTES,
  PACK_HEADER_BYTES,
  PACK_TRAILER_BYTES,
  SEALED_FOOTER_BYTES,
  SEAL_BYTES,
  SEGMENT_HEADER_BYTES,
  SEGMENT_PACK_BYTES,
} from '../../core/format/constants.ts';
import type { PackContents } from '../../core/format/pack.ts';
import { forEachChunk } from '../../core/format/packed-block.ts';
import type { PackedBlock } from '../../core/format/packed-block.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { idText } from './found-packs.ts';
import type { CopiedPack } from './found-packs.ts';
import type { PackSurvey } from './pack-survey.ts';

type Copies = Pick<PackSurvey, 'packsDamaged' | 'packsCopied' | 'packsKept' | 'listedDamaged'>;

/** The header and the end of a pack, and a block more than the pack that it copies has. */
const NEW_PACK_BYTES =
  PACK_HEADER_BYTES +
  PACK_TRAILER_BYTES +
  SEALED_FOOTER_BYTES +
  PACK_FOOTER_BLOCK_BYTES +
  blockBytes(0, 0) +
  SEAL_BYTES;
/** Of data, of trees, and of borrowed chunks: the last pack of each kind may be small. */
const KIND_COUNT = 3;
/**
 * Chunks of one block may get into two new ones, where each is compressed to no more than the one was. That is twice as
 * much if one half of the block repeats the other.
 */
const SPLIT_FACTOR = 2;

/** What is copied of one pack. */
interface Room {
  readonly isInGroups: boolean;
  readonly packBytes: number;
  /** In the new segment. */
  readonly listedBytes: number;
}

/**
 * Returns the room that copies of chunks take, at most, with the segment that lists them. What is readable of a damaged pack
 * can be nearly all of it. Packs of trees, and the segment, are in the place of the repository, and if packs have copies in
 * every group, too.
 */
export async function roomForCopies(
  { packs, groups }: Pick<Repository, 'packs' | 'groups'>,
  { packsDamaged, packsCopied, packsKept, listedDamaged }: Copies,
): Promise<number> {
  const rooms: Room[] = packsCopied.map((copied) => roomFor(copied, groups !== undefined));
  for (const id of packsDamaged) rooms.push(await roomForDamaged(packs, id, listedDamaged.get(id)));
  if (rooms.length === 0) return 0;
  const copyCount = groups?.rules.copies ?? 1;
  const smallCount = 1 + (copyCount > 1 ? groups!.all.length : 0);
  const endsBytes = (SPLIT_FACTOR * rooms.length + KIND_COUNT) * NEW_PACK_BYTES * Math.max(copyCount, smallCount);
  const segmentBytes = packsKept.reduce((sum, pack) => sum + listedBytesOf(pack), SEGMENT_HEADER_BYTES + SEAL_BYTES);
  return rooms.reduce(
    (sum, { isInGroups, packBytes, listedBytes }) =>
      sum + packBytes * (isInGroups ? copyCount : smallCount) + listedBytes * smallCount,
    endsBytes + segmentBytes * smallCount,
  );
}

/** Copies with different damage have different chunks, and those with wrong bytes are chunks, too. */
async function roomForDamaged(packs: Repository['packs'], id: string, listed: PackContents | undefined): Promise<Room> {
  const copyIds = await packs.copyIdsOf(id);
  let sizeBytes = 0;
  for (const copyId of copyIds.length > 0 ? copyIds : [id]) sizeBytes += (await packs.sizeOf(copyId)) ?? 0;
  const splitBytes = SPLIT_FACTOR * sizeBytes;
  const packBytes = listed === undefined ? splitBytes : Math.min(splitBytes, Math.max(sizeBytes, rawBytesOf(listed)));
  // What lists a chunk takes less than the chunk itself, with its own part of the footer.
  const listedBytes = listed === undefined ? sizeBytes : listedBytesOf(listed) * Math.max(1, copyIds.length);
  return { isInGroups: copyIds.length > 0, packBytes, listedBytes };
}

/** The size of a pack with these chunks if none can be compressed. */
function rawBytesOf({ blocks }: PackContents): number {
  return blocks.reduce((sum, { rawBytes, chunkLengths }) => sum + rawBlockBytes(chunkLengths.length, rawBytes), 0);
}

function rawBlockBytes(chunkCount: number, rawBytes: number): number {
  return footerBytes(chunkCount) + blockBytes(chunkCount, rawBytes) + SEAL_BYTES;
}

/** Of a block. */
function footerBytes(chunkCount: number): number {
  return PACK_FOOTER_BLOCK_BYTES + chunkCount * PACK_FOOTER_CHUNK_BYTES;
}

/** In a segment, where each block may have become two. */
function listedBytesOf({ blocks }: PackContents): number {
  const entryBytes = SPLIT_FACTOR * (SEGMENT_PACK_BYTES + PACK_TRAILER_BYTES);
  return blocks.reduce((sum, { chunkLengths }) => sum + SPLIT_FACTOR * footerBytes(chunkLengths.length), entryBytes);
}

function roomFor({ pack, neededIds }: CopiedPack, hasGroups: boolean): Room {
  const blocks = pack.blocks.map((block) => roomForBlock(block, neededIds));
  return {
    isInGroups: hasGroups && pack.kind === 'data',
    packBytes: blocks.reduce((sum, { packBytes }) => sum + packBytes, 0),
    listedBytes: blocks.reduce((sum, { listedBytes }) => sum + listedBytes, SEGMENT_PACK_BYTES + PACK_TRAILER_BYTES),
  };
}

/** `neededIds`: undefined for all. */
function roomForBlock(
  block: PackedBlock,
  neededIds: ReadonlySet<string> | undefined,
): Pick<Room, 'packBytes' | 'listedBytes'> {
  let rawBytes = 0;
  let count = 0;
  forEachChunk(block, (idOffset, _, lengthBytes) => {
    if (neededIds?.has(idText(block.chunkIds, idOffset)) === false) return;
    rawBytes += lengthBytes;
    count += 1;
  });
  if (count === 0) return { packBytes: 0, listedBytes: 0 };
  const listedBytes = footerBytes(count);
  const splitBytes = SPLIT_FACTOR * (listedBytes + block.sizeBytes);
  return { packBytes: Math.min(splitBytes, rawBlockBytes(count, rawBytes)), listedBytes: SPLIT_FACTOR * listedBytes };
}

/** Says of an error about a full disk how much room the copies need. */
export function explainFull(error: unknown, roomBytes: number, { packsCopied }: Pick<Copies, 'packsCopied'>): unknown {
  if (!isDiskFull(error) || roomBytes === 0) return error;
  const isFound = packsCopied.some(({ neededIds }) => neededIds !== undefined);
  return new BackendError(
    `there is no room to copy what can be read of damaged packs or is needed of others, up to ${formatBytes(roomBytes)}: ${error.message}`,
    {
      kind: error.kind,
      errno: error.errno,
      advice: { code: isFound ? 'make-room-or-accept-older-state' : 'make-room-for-repair' },
      cause: error,
    },
  );
}
