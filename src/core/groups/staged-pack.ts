import type { StagedFile, Verify } from '../backend/backend.ts';

type Publish = (name: string, pieces: readonly Uint8Array[], verify?: Verify, isNew?: boolean) => Promise<void>;

/**
 * A pack that is kept in memory until it is complete. Only then its id is known, which decides about its group; and if
 * that group is full, the next one gets the whole pack.
 */
export class StagedPack implements StagedFile {
  readonly #publish: Publish;
  #pieces: Uint8Array[] = [];

  constructor(publish: Publish) {
    this.#publish = publish;
  }

  async append(bytes: Uint8Array): Promise<void> {
    this.#pieces.push(new Uint8Array(bytes));
  }

  /** Nothing of a pack is durable before it is published. */
  async flush(): Promise<void> {}

  async publish(name: string, verify?: Verify, isNew?: boolean): Promise<void> {
    // As one piece, which a store of objects copies without ever needing more room.
    const whole = Buffer.concat(this.#pieces);
    this.#pieces = [];
    await this.#publish(name, [whole], verify, isNew);
  }

  async discard(): Promise<void> {
    this.#pieces = [];
  }
}
