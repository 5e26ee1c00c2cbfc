import { CorruptDataError } from '../../core/errors.ts';
import { FILE_ID_BYTES } from '../../core/format/constants.ts';
import { JsonReader, hexPattern } from '../../core/format/json-reader.ts';
import { isSamePlane } from './plane-state.ts';
import type { PlaneState } from './plane-state.ts';

/** What the plane of a domain says about chunks, in the order in which they were asked about. */
export interface HeldPlane {
  /** The repository id: 64 hex digits. */
  readonly domainId: string;
  /** Of the plane. What it says is about this state only, and it need not be the newest one. */
  readonly state: PlaneState;
  /** Bit i % 8 of byte i / 8 is 0 if chunk i was not live in the domain. */
  readonly maybe: Uint8Array;
}

const HEX_256 = hexPattern(FILE_ID_BYTES);
const HEX_BYTES = /^(?:[0-9a-f]{2})*$/;

/**
 * What a plane says about a chunk: `no` is certain for what the domain has published. `unknown`: there is no plane of
 * that, so the domain is asked as if it said `maybe`.
 */
export type PlaneVerdict = 'maybe' | 'no' | 'unknown';

/**
 * What is known of chunk `index`. Only the plane of what the domain has published last can say no.
 * @param held - undefined: there is no plane of the domain
 * @param published - as the caller has read it; undefined: it is not known
 */
export function planeVerdict(
  held: HeldPlane | undefined,
  published: PlaneState | undefined,
  index: number,
): PlaneVerdict {
  if (held === undefined || published === undefined || !isSamePlane(held.state, published)) return 'unknown';
  return ((held.maybe[index >>> 3]! >>> (index & 7)) & 1) === 1 ? 'maybe' : 'no';
}

/** Returns what an agent answers, for JSON. */
export function encodeHeldPlanes(planes: readonly HeldPlane[]): object[] {
  return planes.map(({ domainId, state, maybe }) => {
    const { generation, sequence, positions, hashes, liveCount, checksum } = state;
    const hex = Buffer.from(maybe).toString('hex');
    return { domainId, generation, sequence, positions, hashes, liveCount, checksum, maybe: hex };
  });
}

/**
 * Reads the answer of an agent about a given number of chunks.
 * @throws CorruptDataError
 */
export function decodeHeldPlanes(value: unknown, idCount: number): HeldPlane[] {
  const planes = new JsonReader({ planes: value }, 'its answer').objects('planes').map((reader) => ({
    domainId: reader.string('domainId', HEX_256),
    state: {
      generation: reader.count('generation'),
      sequence: reader.count('sequence'),
      positions: reader.count('positions'),
      hashes: reader.count('hashes'),
      liveCount: reader.count('liveCount'),
      checksum: reader.string('checksum', HEX_256),
    },
    maybe: Buffer.from(reader.string('maybe', HEX_BYTES), 'hex'),
  }));
  if (planes.some(({ maybe }) => maybe.length !== Math.ceil(idCount / 8)))
    throw new CorruptDataError('its answer: it is about another number of chunks than was asked');
  return planes;
}
