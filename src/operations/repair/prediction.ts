import { bufferOver } from '../../format/byte-reader.ts';
import type { PackContents, PackedBlock } from '../../format/pack.ts';
import type { OpenedState, OpenStateOptions } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import { packName } from '../../store/pack-reader.ts';
import { scanBlocks } from './pack-scan.ts';
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
  const { segmentsReplaced, segmentsDamaged, packsKept, packsCondemned, packsDamaged } = given.survey;
  const packs = [...packsKept, ...packsCondemned];
  for (const id of packsDamaged) packs.push(...(await salvageable(repository, id)));
  const prediction = { segmentsReplaced: new Set([...segmentsReplaced, ...segmentsDamaged]), packs, remembered };
  return await repository.openState({ ignoreCheckpoints: true, prediction, onTree });
}

/** The pack with only its readable blocks; nothing if there are none. */
async function salvageable({ backend, hasher }: Repository, id: string): Promise<PackContents[]> {
  const bytes = bufferOver(await backend.read(packName(id)));
  const blocks: PackedBlock[] = [];
  let pack: PackContents | undefined;
  await scanBlocks(bytes, hasher, async ({ kind, block }) => {
    pack ??= { id, kind, sizeBytes: bytes.length, blocks };
    if (kind === pack.kind) blocks.push(block);
  });
  return pack === undefined ? [] : [pack];
}
