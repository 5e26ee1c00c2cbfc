import { CorruptDataError } from '../../core/errors.ts';
import { decodePlaneBase, decodePlaneDelta, planeBaseBytes } from '../formats/plane-file.ts';
import type { PlaneBase, PlaneDelta } from '../formats/plane-file.ts';
import type { PlaneFiles } from '../agents/peer.ts';
import { parsePlaneFileName, planeBaseName, planeDeltaName } from './plane-names.ts';
import type { PlaneState } from './plane-state.ts';

/** The deltas of a path through the published files, and the bytes of their files. */
interface DeltaPath {
  readonly deltas: readonly PlaneDelta[];
  readonly sizeBytes: number;
}

/** Reads plane files of one domain, each compared with its name and the state that it should lead to. */
export class PlaneFileReader {
  readonly #domainId: string;
  readonly #files: PlaneFiles;

  constructor(domainId: string, files: PlaneFiles) {
    this.#domainId = domainId;
    this.#files = files;
  }

  /** The sequences of the bases of the generation that are not newer than the state, newest first. */
  baseSequences(names: readonly string[], { generation, sequence }: PlaneState): number[] {
    const sequences: number[] = [];
    for (const name of names) {
      const parsed = parsePlaneFileName(name);
      if (parsed?.kind !== 'base' || parsed.generation !== generation) continue;
      if (parsed.sequence <= sequence) sequences.push(parsed.sequence);
    }
    return sequences.sort((a, b) => b - a);
  }

  /**
   * The plane is not compared with anything: what it leads to must have the checksum of the state.
   * @throws CorruptDataError if the base is missing, or not what its name and the state say
   */
  async readBase(sequence: number, state: PlaneState): Promise<PlaneBase> {
    const name = planeBaseName(state.generation, sequence);
    const base = decodePlaneBase(await this.#read(name, state), name, false);
    const isRight = base.sequence === sequence && base.hashes === state.hashes && this.#belongs(base, state);
    if (!isRight) throw new CorruptDataError(`${name}: it is the base of something else`);
    return base;
  }

  /**
   * Reads the deltas that lead from a sequence to the state. Of several that begin at the same sequence, the one that
   * leads farthest is right: a publisher that fails may leave a delta, and the next one leads to a higher sequence.
   * @throws CorruptDataError if one is missing or damaged, or not what its name says
   */
  async readDeltas(names: readonly string[], from: number, state: PlaneState): Promise<DeltaPath> {
    const next = nextSequences(names, state);
    const deltas: PlaneDelta[] = [];
    let sizeBytes = 0;
    for (let at = from; at < state.sequence; at = deltas.at(-1)!.to) {
      const to = next.get(at);
      if (to === undefined) {
        throw new CorruptDataError(`no delta of generation ${state.generation} begins at sequence ${at}`);
      }
      const name = planeDeltaName(state.generation, at, to);
      const bytes = await this.#read(name, state);
      const delta = decodePlaneDelta(bytes, name);
      const isRight = delta.from === at && delta.to === to && this.#belongs(delta, state);
      if (!isRight) throw new CorruptDataError(`${name}: it is the delta of something else`);
      deltas.push(delta);
      sizeBytes += bytes.length;
    }
    return { deltas, sizeBytes };
  }

  async #read(name: string, state: PlaneState): Promise<Uint8Array> {
    const bytes = await this.#files.read(name, planeBaseBytes(state.positions));
    if (bytes === undefined) throw new CorruptDataError(`${name} is missing`);
    return bytes;
  }

  #belongs(file: Pick<PlaneBase, 'domainId' | 'generation' | 'positions'>, state: PlaneState): boolean {
    const { generation, positions } = state;
    return file.domainId === this.#domainId && file.generation === generation && file.positions === positions;
  }
}

/** Where the farthest delta from each sequence leads to, among those that do not lead beyond the state. */
function nextSequences(names: readonly string[], { generation, sequence }: PlaneState): Map<number, number> {
  const next = new Map<number, number>();
  for (const name of names) {
    const parsed = parsePlaneFileName(name);
    if (parsed?.kind !== 'delta' || parsed.generation !== generation || parsed.to > sequence) continue;
    next.set(parsed.from, Math.max(parsed.to, next.get(parsed.from) ?? 0));
  }
  return next;
}
