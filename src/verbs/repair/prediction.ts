import type { ChunkKind } from '../../core/format/chunk-kind.ts';
import type { PackContents } from '../../core/format/pack.ts';
import type { PackedBlock } from '../../core/format/packed-block.ts';
import type { OpenedState, OpenStateOptions } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { packsOf } from './found-packs.ts';
import type { PackSurvey } from './pack-survey.ts';

/**
 * The state that a repair will lead to, for a dry run. What the repair would copy out of a damaged pack is in place
 * there until then, so the state finds it under the name of the damaged pack.
 */
export async function predictState(
  repository: Repository,
  given: {
    readonly opened: OpenedState;
    readonly survey: PackSurvey;
    readonly onTree: NonNullable<OpenStateOptions['onTree']>;
  },
): Promise<OpenedState> {
  const { onTree } = given;
  const { remembered } = given.opened;
  const { segmentsReplaced, segmentsDamaged, packsKept, packsCopied, packsDamaged } = given.survey;
  const packs = [...packsKept, ...packsOf(packsCopied)];
  for (const id of packsDamaged) packs.push(...(await salvageable(repository, id)));
  const prediction = { segmentsReplaced: new Set([...segmentsReplaced, ...segmentsDamaged]), packs, remembered };
  return await repository.openState({ ignoreCheckpoints: true, prediction, onTree });
}

/** The pack with only its blocks that are readable in any copy; nothing if there are none. */
async function salvageable({ packs }: Repository, id: string): Promise<PackContents[]> {
  const blocks: PackedBlock[] = [];
  let packKind: ChunkKind | undefined;
  let sizeBytes = 0;
  const copyIds = await packs.copyIdsOf(id);
  for (const copyId of copyIds.length > 0 ? copyIds : [id]) {
    const copyBytes = await packs.scan(copyId, async ({ kind, block }) => {
      packKind ??= kind;
      const isKnown = blocks.some(
        ({ offset, chunkIds }) => offset === block.offset && Buffer.compare(chunkIds, block.chunkIds) === 0,
      );
      if (kind === packKind && !isKnown) blocks.push(block);
    });
    sizeBytes = Math.max(sizeBytes, copyBytes);
  }
  return packKind === undefined ? [] : [{ id, kind: packKind, sizeBytes, isSealed: packs.isSealed, blocks }];
}
