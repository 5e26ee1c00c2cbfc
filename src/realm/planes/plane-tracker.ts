import assert from 'node:assert/strict';
import { CorruptDataError, LdmError } from '../../core/errors.ts';
import { planeChecksum } from '../formats/plane-file.ts';
import type { PlaneDelta } from '../formats/plane-file.ts';
import { applyFlips } from '../../core/ldm/plane.ts';
import type { DomainPlane } from '../../core/ldm/planes.ts';
import type { PlaneFiles } from '../agents/peer.ts';
import { PlaneFileReader } from './plane-files.ts';
import { hasSameShape, isSamePlane } from './plane-state.ts';
import type { PlaneState } from './plane-state.ts';

/**
 * What an update did to the plane: nothing, it changed at these positions (a position in several of the lists changes
 * each time), or it is another one.
 */
type PlaneChange =
  | { readonly kind: 'none' }
  | { readonly kind: 'flips'; readonly flips: readonly Uint32Array[] }
  | { readonly kind: 'replaced' };

/** A plane that had the checksum of a state, and what it was made from. */
interface Held {
  state: PlaneState;
  readonly plane: Uint8Array;
  deltaCount: number;
  deltaBytes: number;
}

/**
 * Follows the plane of one domain. It holds only planes that had the checksum of a state record. If the newest state
 * cannot be reached, it keeps the last plane and is not current: then a 0 says nothing.
 */
export class PlaneTracker {
  readonly #reader: PlaneFileReader;
  readonly #files: PlaneFiles;
  #held: Held | undefined;
  #isCurrent = false;
  #isUpdating = false;
  #problem: LdmError | undefined;

  /** @param domainId - the repository id: 64 hex digits */
  constructor(domainId: string, files: PlaneFiles) {
    this.#reader = new PlaneFileReader(domainId, files);
    this.#files = files;
  }

  /** Whether the plane is that of the state of the last `update`. Only then, a 0 is a certain no. */
  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  /** The newest plane that could be verified; undefined: none yet. It changes with the next update; copy it to keep it. */
  get plane(): DomainPlane | undefined {
    if (this.#held === undefined) return undefined;
    const { plane, state } = this.#held;
    return { positions: state.positions, hashes: state.hashes, plane };
  }

  /** The state of `plane`. */
  get state(): PlaneState | undefined {
    return this.#held?.state;
  }

  /** Number and bytes of the deltas since the base of `plane`. */
  get deltas(): { readonly count: number; readonly sizeBytes: number } {
    return { count: this.#held?.deltaCount ?? 0, sizeBytes: this.#held?.deltaBytes ?? 0 };
  }

  /** Why it is not current; undefined if it is, or before the first update. */
  get problem(): LdmError | undefined {
    return this.#problem;
  }

  /** The state may have changed and cannot be read now: the plane is not current until the next update. */
  distrust(problem: LdmError): void {
    this.#isCurrent = false;
    this.#problem = problem;
  }

  /**
   * Brings the plane to the state of the record: with deltas only, or else with a base and deltas. If neither is
   * possible, it stays as it is, and `problem` says why. Only one update may run at a time.
   */
  async update(state: PlaneState): Promise<PlaneChange> {
    assert(!this.#isUpdating, 'an update of this plane is still running');
    this.#isUpdating = true;
    this.#isCurrent = false;
    try {
      const change = await this.#reach(state);
      this.#isCurrent = true;
      this.#problem = undefined;
      return change;
    } catch (error) {
      if (!(error instanceof LdmError)) throw error;
      this.#problem = error;
      return { kind: 'none' };
    } finally {
      this.#isUpdating = false;
    }
  }

  async #reach(state: PlaneState): Promise<PlaneChange> {
    const held = this.#held;
    if (held !== undefined && isSamePlane(held.state, state)) {
      held.state = state;
      return { kind: 'none' };
    }
    const names = await this.#files.names();
    if (held !== undefined && leadsTo(held.state, state)) {
      const flips = await this.#advance(held, names, state);
      if (flips !== undefined) return { kind: 'flips', flips };
    }
    await this.#load(names, state);
    return { kind: 'replaced' };
  }

  /** Applies deltas to the held plane. Returns undefined if that does not lead to the state; the plane is unchanged. */
  async #advance(held: Held, names: readonly string[], state: PlaneState): Promise<Uint32Array[] | undefined> {
    try {
      const { deltas, sizeBytes } = await this.#reader.readDeltas(names, held.state.sequence, state);
      applyAll(held.plane, deltas, state);
      this.#held = {
        state,
        plane: held.plane,
        deltaCount: held.deltaCount + deltas.length,
        deltaBytes: held.deltaBytes + sizeBytes,
      };
      return deltas.map(({ flips }) => flips);
    } catch (error) {
      // A base may still lead to the state.
      if (error instanceof LdmError) return undefined;
      throw error;
    }
  }

  /** @throws the error of the newest base if no base leads to the state */
  async #load(names: readonly string[], state: PlaneState): Promise<void> {
    let firstError: LdmError | undefined;
    for (const sequence of this.#reader.baseSequences(names, state)) {
      try {
        const { plane } = await this.#reader.readBase(sequence, state);
        const { deltas, sizeBytes } = await this.#reader.readDeltas(names, sequence, state);
        applyAll(plane, deltas, state);
        this.#held = { state, plane, deltaCount: deltas.length, deltaBytes: sizeBytes };
        return;
      } catch (error) {
        if (!(error instanceof LdmError)) throw error;
        firstError ??= error;
      }
    }
    throw firstError ?? new CorruptDataError(`there is no plane base of generation ${state.generation}`);
  }
}

/** @throws CorruptDataError if the result is not the plane of the state; the plane is unchanged then */
function applyAll(plane: Uint8Array, deltas: readonly PlaneDelta[], state: PlaneState): void {
  const last = deltas.at(-1);
  for (const { flips } of deltas) applyFlips(plane, flips);
  const isRight = (last?.checksum ?? state.checksum) === state.checksum && planeChecksum(plane) === state.checksum;
  if (isRight) return;
  // To flip once more is to undo.
  for (const { flips } of deltas) applyFlips(plane, flips);
  throw new CorruptDataError(`the plane files of generation ${state.generation} do not lead to the published state`);
}

/** Whether deltas may lead from one state to another one. */
function leadsTo(from: PlaneState, to: PlaneState): boolean {
  return from.generation === to.generation && from.sequence < to.sequence && hasSameShape(from, to);
}
