import type { Backend, BackendFile, NextReads, OldVersions, Place, StagedFile, Verify } from './backend.ts';

/** Passes everything on to another backend. A subclass changes some of it. */
export abstract class PassingBackend implements Backend {
  readonly location: string;
  readonly localDirectory: string | undefined;
  readonly #inner: Backend;

  constructor(inner: Backend) {
    this.#inner = inner;
    this.location = inner.location;
    this.localDirectory = inner.localDirectory;
  }

  get readsAtOnce(): number {
    return this.#inner.readsAtOnce;
  }

  get packsAtOnce(): number | undefined {
    return this.#inner.packsAtOnce;
  }

  get isAppendOnly(): boolean | undefined {
    return this.#inner.isAppendOnly;
  }

  get isOwnServer(): boolean | undefined {
    return this.#inner.isOwnServer;
  }

  get keepsRemoved(): boolean | undefined {
    return this.#inner.keepsRemoved;
  }

  async oldVersions(): Promise<OldVersions | 'unknown' | undefined> {
    return await this.#inner.oldVersions?.();
  }

  clockAheadMs(): number | undefined {
    return this.#inner.clockAheadMs?.();
  }

  get traffic(): Backend['traffic'] {
    return this.#inner.traffic;
  }

  distrust(name: string): void {
    this.#inner.distrust?.(name);
  }

  readAhead(next: NextReads, isFresh?: boolean): void {
    this.#inner.readAhead?.(next, isFresh);
  }

  async examine(): Promise<Place | undefined> {
    return await this.#inner.examine();
  }

  async prepare(directories: readonly string[], isSingleWriter?: boolean): Promise<void> {
    await this.#inner.prepare(directories, isSingleWriter);
  }

  async list(directory: string): Promise<BackendFile[]> {
    return await this.#inner.list(directory);
  }

  async sizeOf(name: string): Promise<number | undefined> {
    return await this.#inner.sizeOf(name);
  }

  async sizesOf(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return await this.#inner.sizesOf(names);
  }

  async read(name: string): Promise<Uint8Array> {
    return await this.#inner.read(name);
  }

  async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    await this.#inner.readRange(name, offset, target);
  }

  async stage(isReadOften?: boolean): Promise<StagedFile> {
    return await this.#inner.stage(isReadOften);
  }

  async publish(name: string, bytes: Uint8Array, verify?: Verify, after?: Verify): Promise<void> {
    await this.#inner.publish(name, bytes, verify, after);
  }

  async move(source: string, target: string): Promise<void> {
    await this.#inner.move(source, target);
  }

  async remove(name: string): Promise<boolean> {
    return await this.#inner.remove(name);
  }

  async barrier(): Promise<void> {
    await this.#inner.barrier();
  }

  async settle(directories: readonly string[]): Promise<void> {
    await this.#inner.settle(directories);
  }

  async claim(name: string, next?: NextReads): Promise<void> {
    await this.#inner.claim(name, next);
  }

  async refresh(name: string): Promise<boolean> {
    return await this.#inner.refresh(name);
  }

  async heartbeatOf(name: string): Promise<string | undefined> {
    return await this.#inner.heartbeatOf(name);
  }

  async release(name: string): Promise<boolean> {
    return await this.#inner.release(name);
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }
}
