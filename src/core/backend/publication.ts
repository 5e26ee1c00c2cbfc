import type { Verify } from './backend.ts';

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
