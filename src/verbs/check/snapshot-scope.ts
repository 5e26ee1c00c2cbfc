import { isDamage } from '../../core/errors.ts';
import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { DamageScope } from '../../core/damage/damage-findings.ts';
import { walkLive } from '../../core/snapshots/live-walk.ts';

/** What a check of some snapshots looks at. */
interface SnapshotScope extends DamageScope {
  readonly chunkCount: number;
  /** The packs that the state reads the chunks of these snapshots from. */
  readonly packIds: ReadonlySet<string>;
}

/** Finds out what snapshots need, by reading their trees. Those that are gone are left out. */
export async function findScope({ state, reader }: OpenedState, ids: readonly string[]): Promise<SnapshotScope> {
  const { filter, packs } = state;
  const snapshots = new Map(ids.flatMap((id) => (state.snapshots.has(id) ? [[id, state.snapshots.get(id)!]] : [])));
  const unreadable: string[] = [];
  const roots = [...snapshots.values()].map(({ tree }) => tree);
  const { reached, missing } = await walkLive({ state, reader }, roots, (entry, error) => {
    if (!isDamage(error)) throw error;
    const id = Buffer.alloc(CHUNK_ID_BYTES);
    filter.copyId(entry, id, 0);
    unreadable.push(id.toString('hex'));
  });
  const packIds = new Set<string>();
  let chunkCount = 0;
  filter.forEachEntry((entry) => {
    if (!reached.has(entry)) return;
    chunkCount += 1;
    packIds.add(packs.get(filter.packIndexOf(entry)).id);
  });
  return { snapshots, lost: [...missing, ...unreadable], needs: (entry) => reached.has(entry), chunkCount, packIds };
}
