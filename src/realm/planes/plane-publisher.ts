import {
  concurrentPlaneChecksum,
  encodePlaneBase,
  encodePlaneDelta,
  planeBaseBytes,
  planeDeltaBytes,
} from '../formats/plane-file.ts';
import { flipsBetween } from '../../core/ldm/plane.ts';
import type { DomainPlane } from '../../core/ldm/planes.ts';
import type { PlaneFiles } from '../agents/peer.ts';
import { newestSequence, parsePlaneFileName, planeBaseName, planeDeltaName } from './plane-names.ts';
import type { PlaneState } from './plane-state.ts';
import { PlaneTracker } from './plane-tracker.ts';

/** More deltas than this make a reader that begins with the base wait for too many files. */
export const DELTAS_MAX = 64;
/** Deltas of more bytes than this share of their base are replaced by a new base. */
const DELTA_SHARE_MAX = 0.25;

/** The plane of a domain as it is now. */
export interface OwnPlane extends DomainPlane {
  /** n: the number of live chunks. */
  readonly liveCount: number;
}

/** What a domain has to do, in this order: write the file durably, write the state record, remove obsolete files. */
export interface Publication {
  /** The new plane file. Undefined: only n has changed. */
  readonly file: { readonly name: string; readonly bytes: Uint8Array } | undefined;
  readonly state: PlaneState;
  /** Files of older generations. A reader that needs one has read an older state record, and reads it again. */
  readonly obsolete: readonly string[];
}

/** What the domain has published before. */
interface Published {
  /** Undefined: there is no state record. */
  readonly state: PlaneState | undefined;
  readonly files: PlaneFiles;
}

/**
 * Decides how a domain publishes its plane: as a delta, or as the base of a new generation if m or k has changed, if the
 * deltas have become too many, or if the published files do not lead to the published state. Returns undefined if
 * nothing has changed. The caller makes sure that only one process publishes for the domain.
 *
 * Rejects if the names of the plane files cannot be listed, with the error of `files.names()`.
 */
export async function planPublication(
  domainId: string,
  own: OwnPlane,
  { state, files }: Published,
): Promise<Publication | undefined> {
  const ownChecksum = concurrentPlaneChecksum(own.plane);
  const tracker = new PlaneTracker(domainId, files);
  if (state !== undefined) await tracker.update(state);
  const [checksum, names] = await Promise.all([ownChecksum, files.names()]);
  if (state === undefined || !tracker.isCurrent) return newGeneration(domainId, own, { checksum, state, names });
  if (state.positions !== own.positions || state.hashes !== own.hashes) {
    return newGeneration(domainId, own, { checksum, state, names });
  }
  if (state.checksum === checksum) {
    if (state.liveCount === own.liveCount) return undefined;
    return { file: undefined, state: { ...state, liveCount: own.liveCount }, obsolete: namesBefore(names, state) };
  }
  const flips = affordableFlips(tracker, own);
  if (flips === undefined) return newGeneration(domainId, own, { checksum, state, names });
  return nextDelta(domainId, own, { checksum, state, names, flips });
}

interface Situation<State = PlaneState> {
  readonly checksum: string;
  readonly state: State;
  readonly names: readonly string[];
}

/** The flips since the published plane; undefined if a base is better than one more delta. */
function affordableFlips(tracker: PlaneTracker, own: OwnPlane): Uint32Array | undefined {
  const published = tracker.plane!.plane;
  const { count, sizeBytes } = tracker.deltas;
  const limitBytes = planeBaseBytes(own.positions) * DELTA_SHARE_MAX - sizeBytes;
  // A flip takes a byte or more.
  if (count >= DELTAS_MAX) return undefined;
  const flips = flipsBetween(published, own.plane, limitBytes);
  return flips === undefined || planeDeltaBytes(flips) > limitBytes ? undefined : flips;
}

function nextDelta(
  domainId: string,
  { positions, hashes, liveCount }: OwnPlane,
  { checksum, state: { generation, sequence: from }, names, flips }: Situation & { readonly flips: Uint32Array },
): Publication {
  const to = sequenceAfter(names, from);
  const bytes = encodePlaneDelta({ domainId, generation, from, to, positions, liveCount, checksum, flips });
  const state = { generation, sequence: to, positions, hashes, liveCount, checksum };
  return { file: { name: planeDeltaName(generation, from, to), bytes }, state, obsolete: namesBefore(names, state) };
}

function newGeneration(
  domainId: string,
  { positions, hashes, liveCount, plane }: OwnPlane,
  { checksum, state: published, names }: Situation<PlaneState | undefined>,
): Publication {
  const generations = names.map((name) => parsePlaneFileName(name)?.generation ?? 0);
  const generation = generations.reduce((a, b) => Math.max(a, b), published?.generation ?? 0) + 1;
  const sequence = sequenceAfter(names, published?.sequence ?? 0);
  const state = { generation, sequence, positions, hashes, liveCount, checksum };
  const bytes = encodePlaneBase({ domainId, generation, sequence, positions, hashes, liveCount, plane });
  return { file: { name: planeBaseName(generation, sequence), bytes }, state, obsolete: namesBefore(names, state) };
}

/** A sequence after that of every file, so that no name is used twice, even after a publication that failed. */
function sequenceAfter(names: readonly string[], published: number): number {
  return Math.max(published, newestSequence(names)) + 1;
}

function namesBefore(names: readonly string[], { generation }: PlaneState): string[] {
  return names.filter((name) => (parsePlaneFileName(name)?.generation ?? generation) < generation);
}
