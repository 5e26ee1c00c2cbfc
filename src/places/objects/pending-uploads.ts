/** How many uploads may be under way at once. Each keeps its bytes in memory. */
const UPLOADS_AT_ONCE = 6;

/** Uploads that go on while their caller does something else. */
export class PendingUploads {
  /** By name. None of these promises is ever rejected. */
  readonly #pending = new Map<string, Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  /** Starts an upload as soon as not too many are under way. Fails if an earlier one has failed. */
  async begin(name: string, upload: () => Promise<unknown>): Promise<void> {
    await this.settled(name);
    while (this.#pending.size >= UPLOADS_AT_ONCE) await Promise.race(this.#pending.values());
    this.#assertNoFailure();
    this.#pending.set(name, this.#follow(name, upload()));
  }

  /** Adds a request that is under way, and that never fails. */
  add(name: string, request: Promise<void>): void {
    this.#pending.set(name, this.#follow(name, request));
  }

  /** Waits until an upload, or every one, has ended in whatever way. */
  async settled(name?: string): Promise<void> {
    if (name !== undefined) return await this.#pending.get(name);
    while (this.#pending.size > 0) await Promise.all(this.#pending.values());
  }

  /** Waits for all uploads. Fails if one has ever failed: what relies on it must not be written. */
  async barrier(): Promise<void> {
    await this.settled();
    this.#assertNoFailure();
  }

  async #follow(name: string, upload: Promise<unknown>): Promise<void> {
    try {
      await upload;
    } catch (error) {
      this.#failure ??= { error };
    } finally {
      this.#pending.delete(name);
    }
  }

  #assertNoFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
