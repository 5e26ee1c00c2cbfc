import { BackendError, isDiskFull } from '../../core/errors.ts';
import { blockBytes } from '../../core/format/block.ts';
import { PACK_FOOTER_BLOCK_BYTES, PACK_FOOTER_CHUNK_BYTES, SEAL_BYTES } from '../../core/format/constants.ts';
import { forEachChunk } from '../../core/format/packed-block.ts';
import type { PackedBlock } from '../../core/format/packed-block.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { idText } from './found-packs.ts';
import type { CopiedPack } from './found-packs.ts';
import type { PackSurvey } from './pack-survey.ts';

type Copies = Pick<PackSurvey, 'packsDamaged' | 'packsCopied'>;

/** Returns the room that copies of chunks take, at most. What is readable of a damaged pack can be nearly all of it. */
export async function roomForCopies(
  { packs, groups }: Pick<Repository, 'packs' | 'groups'>,
  { packsDamaged, packsCopied }: Copies,
): Promise<number> {
  let sizeBytes = 0;
  for (const id of packsDamaged) sizeBytes += await sizeOfAllCopies(packs, id);
  for (const copied of packsCopied) sizeBytes += roomFor(copied);
  return sizeBytes * (groups?.rules.copies ?? 1);
}

/** Copies with different damage have different chunks, and those with wrong bytes are chunks, too. */
async function sizeOfAllCopies(packs: Repository['packs'], id: string): Promise<number> {
  const copyIds = await packs.copyIdsOf(id);
  let sizeBytes = 0;
  for (const copyId of copyIds.length > 0 ? copyIds : [id]) sizeBytes += (await packs.sizeOf(copyId)) ?? 0;
  return sizeBytes;
}

function roomFor({ pack, neededIds }: CopiedPack): number {
  if (neededIds === undefined) return pack.sizeBytes;
  return pack.blocks.reduce((sum, block) => sum + roomForBlock(block, neededIds), 0);
}

/** Fewer chunks are seldom compressed to more than all of the block, and never to more than they have. */
function roomForBlock(block: PackedBlock, neededIds: ReadonlySet<string>): number {
  let rawBytes = 0;
  let count = 0;
  forEachChunk(block, (idOffset, _, lengthBytes) => {
    if (!neededIds.has(idText(block.chunkIds, idOffset))) return;
    rawBytes += lengthBytes;
    count += 1;
  });
  if (count === 0) return 0;
  const listedBytes = PACK_FOOTER_BLOCK_BYTES + count * PACK_FOOTER_CHUNK_BYTES;
  return listedBytes + Math.min(block.sizeBytes, blockBytes(count, rawBytes) + SEAL_BYTES);
}

/** Says of an error about a full disk how much room the copies need. */
export function explainFull(error: unknown, roomBytes: number, { packsCopied }: Copies): unknown {
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
