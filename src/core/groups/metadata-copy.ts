import type { Verify } from '../backend/backend.ts';
import { readSurely } from '../backend/sure-reading.ts';
import { isAbsent, isDamage, isDenied, isOffline } from '../errors.ts';
import { METADATA_DIRECTORY, parseStateName, stateName } from '../format/layout.ts';
import { decodeMetadataState, encodeMetadataState } from '../format/metadata-state.ts';
import type { MetadataState } from '../format/metadata-state.ts';
import { isOwnName } from '../format/own-names.ts';
import type { Group } from './group.ts';

/**
 * The copies of the small files of a repository in one group. Files have the names that they have in the repository;
 * those whose bytes change are in a state, which is written last. So what a state says is complete.
 */
export class MetadataCopy {
  readonly group: Group;
  readonly #sizes: Map<string, number>;
  /** The names of all states, the newest first. */
  #stateNames: readonly string[];
  #state: MetadataState | undefined;
  /** Why the newest state cannot be read. Undefined if it can, or there is none. */
  readonly stateProblem: string | undefined;
  #hasChanged = false;

  private constructor(group: Group, found: { sizes: Map<string, number>; stateNames: string[] } & NewestState) {
    this.group = group;
    this.#sizes = found.sizes;
    this.#stateNames = found.stateNames;
    this.#state = found.state;
    this.stateProblem = found.problem;
  }

  /** Lists what is in a group. A group without copies has no state. */
  static async open(group: Group): Promise<MetadataCopy> {
    const sizes = new Map<string, number>();
    const stateNames: string[] = [];
    for (const { name, sizeBytes, isForeign } of await group.list(METADATA_DIRECTORY)) {
      if (isForeign === true) continue;
      const inner = name.slice(METADATA_DIRECTORY.length + 1);
      if (parseStateName(inner) !== undefined) stateNames.unshift(inner);
      else if (isOwnName(inner)) sizes.set(inner, sizeBytes);
    }
    return new MetadataCopy(group, { sizes, stateNames, ...(await readNewest(group, stateNames)) });
  }

  /** The sizes of the files, by name. */
  get sizes(): ReadonlyMap<string, number> {
    return this.#sizes;
  }

  /** Undefined if there is none that can be read. */
  get state(): MetadataState | undefined {
    return this.#state;
  }

  /** The number of the newest state by its name, although that state may be damaged; 0 if there is none. */
  get newestNumber(): number {
    return parseStateName(this.#stateNames[0] ?? '') ?? 0;
  }

  /** Whether anything was written or removed since the newest state. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** `use` throws a `CorruptDataError` if the bytes are not what their name says. */
  async read<T>(name: string, use: (bytes: Uint8Array) => T): Promise<T> {
    const stored = `${METADATA_DIRECTORY}/${name}`;
    return await this.group.run(async (backend) =>
      readSurely(backend, stored, async (from) => use(await from.read(stored))),
    );
  }

  /** From now on, a file that is there counts as missing. */
  forget(name: string): void {
    this.#sizes.delete(name);
  }

  async write(name: string, bytes: Uint8Array, verify?: Verify): Promise<void> {
    await this.group.write(`${METADATA_DIRECTORY}/${name}`, [bytes], verify);
    this.#sizes.set(name, bytes.length);
    this.#hasChanged = true;
  }

  async remove(name: string): Promise<void> {
    await this.group.remove(`${METADATA_DIRECTORY}/${name}`);
    this.#sizes.delete(name);
    this.#hasChanged = true;
  }

  async barrier(): Promise<void> {
    await this.group.barrier();
  }

  /** Writes a new state after everything else is durable, and removes the earlier ones where that is permitted. */
  async writeState(state: MetadataState, verify: Verify): Promise<void> {
    await this.barrier();
    const name = stateName(state.number);
    await this.group.write(`${METADATA_DIRECTORY}/${name}`, [encodeMetadataState(state)], verify);
    await this.barrier();
    const earlier = this.#stateNames;
    this.#stateNames = [name];
    this.#state = state;
    this.#hasChanged = false;
    try {
      for (const each of earlier) await this.group.remove(`${METADATA_DIRECTORY}/${each}`);
      await this.barrier();
    } catch (error) {
      if (!isDenied(error)) throw error;
    }
  }

  /** Removes all copies, first what makes them usable. */
  async removeAll(): Promise<void> {
    for (const name of [...this.#stateNames, ...this.#sizes.keys()]) await this.remove(name);
    this.#stateNames = [];
    this.#state = undefined;
    await this.barrier();
  }
}

interface NewestState {
  readonly state: MetadataState | undefined;
  /** Why there may be a newer one. */
  readonly problem: string | undefined;
}

/** A state that is damaged does not count: an earlier one may be there still. */
async function readNewest(group: Group, names: readonly string[]): Promise<NewestState> {
  let problem: string | undefined;
  for (const name of names.map((each) => `${METADATA_DIRECTORY}/${each}`)) {
    try {
      const state = await group.run(async (backend) =>
        readSurely(backend, name, async (from) => decodeMetadataState(await from.read(name), name)),
      );
      return { state, problem };
    } catch (error) {
      if (isOffline(error) || (!isDamage(error) && !isAbsent(error))) throw error;
      // Another command that runs may have replaced it.
      if (!isAbsent(error)) problem ??= error.message;
    }
  }
  return { state: undefined, problem };
}
