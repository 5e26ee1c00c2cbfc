import type { Needs, Verify } from './backend.ts';

/** A new file that is being written. A power cut may lose its bytes until `sync` has returned. */
export interface FileWriter {
  /** Appends all the bytes. The buffer may be reused as soon as the promise settles. */
  append(bytes: Uint8Array): Promise<void>;
  /**
   * Checks that the file has exactly the appended length, and syncs it to disk. Must not be called again after a
   * failure.
   */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface TemporaryFile {
  readonly name: string;
  readonly writer: FileWriter;
}

/** The name that a file is to get, and what is asked before and after that. */
export interface Publication {
  readonly target: string;
  readonly verify: Verify | undefined;
  readonly isNew: boolean | undefined;
  readonly after: Verify | undefined;
}

const NOTHING: Needs = { sizes: new Map() };

/** Verifies nothing. */
export const UNVERIFIED: Verify = withNeeds(
  async () => undefined,
  () => NOTHING,
);

/** Returns a function that also says what it looks for. */
export function withNeeds(verify: () => Promise<void>, needs: Verify['needs']): Verify {
  return Object.assign(async () => verify(), { needs });
}

/** What must be there when a file gets its name; undefined if only `verify` knows. */
export function needsOf(verify: Verify | undefined): Needs | undefined {
  return verify === undefined ? NOTHING : verify.needs?.();
}

/** Undefined if one of them is. */
export function needsOfBoth(one: Needs | undefined, other: Needs | undefined): Needs | undefined {
  if (one === undefined || other === undefined) return undefined;
  const sizes = new Map([...one.sizes, ...other.sizes]);
  const settled = [...(one.settled ?? []), ...(other.settled ?? [])];
  const onMet = (): void => {
    one.onMet?.();
    other.onMet?.();
  };
  return { sizes, settled, onMet };
}

/** What is asked once a file has its name. Where requests take effect in their order, it is sent along with the rename. */
export class AskedAlong {
  readonly #ask: Verify | undefined;
  #asked: Promise<void> | undefined;

  constructor(ask: Verify | undefined) {
    this.#ask = ask;
  }

  /** Call this when the requests for the name have been sent. */
  send(): void {
    this.#asked = this.#ask?.();
  }

  /** Call this before the requests for the name are sent again: the answer may be from before them. */
  forget(): void {
    this.#asked = undefined;
  }

  async answer(): Promise<void> {
    await (this.#asked ?? this.#ask?.());
  }
}
