import type { Backend, Needs, StagedFile, Verify } from '../backend/backend.ts';
import { needsOf, needsOfBoth, withNeeds } from '../backend/publication.ts';
import { SEGMENTS, settleSegments } from './groups/settle-others.ts';

/** Writes the bytes of a new file in any number of pieces. */
export type WriteFile = (append: StagedFile['append']) => Promise<unknown>;

/** Writes a file under a temporary name. */
export async function stageFile(backend: Backend, write: WriteFile, isReadOften = false): Promise<StagedFile> {
  const file = await backend.stage(isReadOften);
  await orDiscard(file, async () => write(async (bytes) => file.append(bytes)));
  return file;
}

/** The same, with the bytes on the disk: the file can then get its name on a full disk, too. */
export async function prepareFile(backend: Backend, bytes: Uint8Array): Promise<StagedFile> {
  const file = await stageFile(backend, async (append) => append(bytes));
  await orDiscard(file, async () => file.flush());
  return file;
}

/** Discards a file if a step fails. */
export async function orDiscard<T>(file: StagedFile, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    await file.discard();
    throw error;
  }
}

/** Whether a committed snapshot, durable or not, may stay although the commit cannot be reported. It must be whole. */
export type MayStay = (snapshotId: string, isDurable: boolean) => Promise<boolean>;
/** Makes a manifest, given the ids of the snapshots that are committed with it and before it. */
export type MakeManifest = (ids: readonly string[]) => Uint8Array;

/** Verifies, when the segments are durable: one of them may be that of a process that was killed before its fsync. */
export function afterSettling(backend: Backend, verify: Verify): Verify {
  const settling = settleSegments(backend);
  settling.catch(() => undefined);
  return withNeeds(
    async () => void (await Promise.all([settling, verify()])),
    () => needsOfBoth(verify.needs?.(), { sizes: new Map(), settled: [SEGMENTS] }),
  );
}

/** Verifies, and then tells that the name appears now. */
export function telling(verify: Verify | undefined, tell: () => void): Verify {
  const needs = (): Needs | undefined => {
    tell();
    return needsOf(verify);
  };
  return withNeeds(async () => {
    await verify?.();
    tell();
  }, needs);
}

/** What is verified when a file gets its name. */
export interface Holding {
  readonly verify: Verify;
  readonly before?: Verify;
  /** Fails with the kind `exists` if there is a file of this name. */
  readonly isNew?: boolean;
  /** It takes the place of another file, so it is not taken back: that would leave none. */
  readonly stays?: boolean;
}

/** The look at the lock after a name has appeared, which may go with the requests for the name. */
export class LastLook {
  readonly #verify: Verify;
  #looking: Promise<void> | undefined;

  constructor(verify: Verify) {
    this.#verify = verify;
  }

  /** Never throws. */
  readonly begin: Verify = async () => {
    this.#looking = this.#verify();
    await this.#looking.catch(() => undefined);
  };

  async result(): Promise<void> {
    await (this.#looking ?? this.#verify());
  }
}
