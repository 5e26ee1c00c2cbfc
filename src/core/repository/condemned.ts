import { CorruptDataError, isAbsent, isDamage } from '../errors.ts';
import type { LdmError } from '../errors.ts';
import type { Condemned } from '../format/condemnation.ts';
import { condemnationName } from '../format/layout.ts';
import type { FilePlace } from '../store/pack-end.ts';
import { prefetch } from '../util/prefetch.ts';
import { readCondemnation } from './manifests.ts';

/** Everything that is condemned: it is about to be removed, by this process or by one that may be suspended. */
export interface Condemnations {
  /** Ids of the files in `condemned/` that can be read. */
  readonly ids: readonly string[];
  readonly segmentIds: ReadonlySet<string>;
  readonly packIds: ReadonlySet<string>;
  /** Those of the segments and packs that move to quarantine/ instead of being deleted. */
  readonly damagedIds: ReadonlySet<string>;
  /** Ids of the files that cannot be read, with the reason. */
  readonly damaged: ReadonlyMap<string, LdmError>;
}

/** Reads the files in `condemned/`. One that vanished was the last step of a removal: nothing that it lists is left. */
export async function readCondemnations(place: FilePlace, listedIds: readonly string[]): Promise<Condemnations> {
  const ids: string[] = [];
  const segmentIds = new Set<string>();
  const packIds = new Set<string>();
  const damagedIds = new Set<string>();
  const damaged = new Map<string, LdmError>();
  const read = async (id: string): Promise<Condemned> => readCondemnation(place, id);
  for await (const [id, reading] of prefetch(listedIds, place.backend.readsAtOnce, read)) {
    try {
      const condemned = await reading;
      for (const segmentId of condemned.segmentIds) segmentIds.add(segmentId);
      for (const packId of condemned.packIds) packIds.add(packId);
      for (const damagedId of condemned.damagedIds) damagedIds.add(damagedId);
      ids.push(id);
    } catch (error) {
      if (isAbsent(error)) continue;
      if (!isDamage(error)) throw error;
      damaged.set(id, error);
    }
  }
  return { ids, segmentIds, packIds, damagedIds, damaged };
}

/**
 * For whatever is going to rely on packs: what an unreadable condemnation lists may be removed at any moment.
 * @throws CorruptDataError
 */
export function assertCondemnationsReadable(condemned: Condemnations): void {
  for (const [id, { message }] of condemned.damaged) {
    throw new CorruptDataError(
      `the list ${condemnationName(id)} of what is about to be removed is damaged: ${message}`,
      {
        advice: { code: 'repair' },
      },
    );
  }
}
