import { readSurely } from '../backend/sure-reading.ts';
import type { Seals } from '../crypto/seals.ts';
import { sha256 } from '../crypto/sha256.ts';
import { openStream } from '../crypto/stream-seal.ts';
import { CorruptDataError, UnsupportedFormatError, isAbsent, isDamage } from '../errors.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import { readImage } from '../ldm/image-reader.ts';
import { LocationCheck } from '../ldm/location-check.ts';
import type { RepositoryConfig } from '../format/config.ts';
import type { PackContents } from '../format/pack.ts';
import type { FilePlace } from '../store/pack-end.ts';
import { readPackContents } from '../store/pack-reader.ts';
import type { WorkSizes } from '../util/work-limits.ts';
import { prefetch } from '../util/prefetch.ts';
import { decodeManifest, readSegment } from './manifests.ts';

interface CheckpointPlace extends FilePlace {
  readonly config: RepositoryConfig;
  /** Undefined if there is no limit of memory. */
  readonly work?: WorkSizes;
}

/**
 * Reads a checkpoint and verifies it: its arrays against each other, its snapshots against their manifests, and its
 * chunks and packs against the segments it contains. Only the reference counts are not verified, since that would
 * require reading all trees: `check` recounts them, and compaction does not rely on them.
 *
 * Returns undefined if the file does not exist. If a listed segment is gone, the chunks are not verified; such a
 * checkpoint is not used (`FilterState.isCurrent`).
 * @throws CorruptDataError
 * @throws UnsupportedFormatError for an unknown version
 */
export async function readCheckpoint(
  place: CheckpointPlace,
  name: string,
  segmentIds: ReadonlySet<string>,
): Promise<FilterState | undefined> {
  const { backend, seals, config } = place;
  const state = await readSurely(backend, name, async (from) => {
    const sizeBytes = await from.sizeOf(name);
    if (sizeBytes === undefined) return undefined;
    place.work?.assertIndexFits(sizeBytes);
    const readRange = async (offset: number, target: Uint8Array): Promise<void> => from.readRange(name, offset, target);
    return await readImage(await openStream({ sizeBytes, readRange }, seals.keys));
  });
  if (state === undefined) return undefined;
  const { hashes, fprTarget } = state.filter.plan;
  if (hashes !== config.ldm.hashes || fprTarget !== config.ldm.fprTarget) fail('its filter is not as configured');
  checkSnapshots(state, seals);
  if ([...state.segments].every((id) => segmentIds.has(id))) await checkLocations(place, state);
  return state;
}

/**
 * Reads checkpoints one by one, except for those that are gone, of an unknown version, or damaged. Adds the reasons of
 * damage to `damaged`.
 */
export async function* loadCheckpoints(
  place: CheckpointPlace,
  names: readonly string[],
  segmentIds: readonly string[],
  damaged: Map<string, string>,
): AsyncGenerator<{ readonly state: FilterState; readonly checkpoint: string }> {
  for (const name of names) {
    try {
      const state = await readCheckpoint(place, name, new Set(segmentIds));
      if (state !== undefined) yield { state, checkpoint: name };
    } catch (error) {
      if (isDamage(error)) damaged.set(name, error.message);
      else if (!isAbsent(error) && !(error instanceof UnsupportedFormatError)) throw error;
    }
  }
}

/** The id of a snapshot is the digest of its manifest, and the manifest contains the id of the root tree. */
function checkSnapshots({ filter, snapshots }: FilterState, seals: Seals): void {
  const rootRefs = new Map<number, number>();
  for (const [id, { tree, manifest }] of snapshots) {
    if (sha256(manifest) !== id) fail(`the manifest of snapshot ${id} has a wrong SHA-256`);
    if (!Buffer.from(decodeManifest(seals, manifest).tree, 'hex').equals(tree))
      fail(`snapshot ${id} has another root tree`);
    const entry = filter.find(tree, 0);
    if (entry < 0) fail(`the root tree of snapshot ${id} is in no pack`);
    rootRefs.set(entry, (rootRefs.get(entry) ?? 0) + 1);
  }
  for (const [entry, count] of rootRefs) if (filter.refs(entry) < count) fail('it counts too few references');
}

/** A pack whose segment is unreadable is compared with its own footer. If that is damaged too, it is not checked. */
async function checkLocations(place: FilePlace, state: FilterState): Promise<void> {
  const { backend } = place;
  const check = new LocationCheck(state);
  const seen = new Set<string>();
  const verify = (pack: PackContents): void => {
    if (!seen.has(pack.id)) check.verify(pack);
    seen.add(pack.id);
  };
  let isComplete = true;
  const read = async (id: string): Promise<PackContents[]> => readSegment(place, id);
  for await (const [, segment] of prefetch(state.segments, backend.readsAtOnce, read)) {
    const packs = await unlessDamaged(async () => segment);
    if (packs === undefined) isComplete = false;
    else for (const pack of packs) verify(pack);
  }
  const unseen = [...state.packs.ids(), ...state.absentPacks].filter((id) => !seen.has(id));
  if (isComplete && unseen[0] !== undefined) fail(`no segment lists pack ${unseen[0]}`);
  const unlisted = unseen.filter((id) => !state.absentPacks.has(id));
  const readContents = async (id: string): Promise<PackContents> => readPackContents(place, id);
  for await (const [, contents] of prefetch(unlisted, backend.readsAtOnce, readContents)) {
    const pack = await unlessDamaged(async () => contents);
    if (pack !== undefined) verify(pack);
  }
}

/** Only the checkpoint is verified here. Other damaged files are reported where they are needed. */
async function unlessDamaged<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!isDamage(error)) throw error;
    return undefined;
  }
}

function fail(problem: string): never {
  throw new CorruptDataError(`checkpoint: ${problem}`);
}
