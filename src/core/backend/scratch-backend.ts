import assert from 'node:assert/strict';
import type { Backend, BackendFile, StagedFile, Verify } from './backend.ts';
import { LocalBackend } from './local-backend.ts';
import { PassingBackend } from './passing-backend.ts';

/**
 * A repository that is only read, and new files in a directory of this machine. Readers see both. Nothing else is
 * changed, except for locks. What is new need not survive a power cut.
 */
export class ScratchBackend extends PassingBackend {
  readonly copiesOf?: NonNullable<Backend['copiesOf']>;
  readonly #inner: Backend;
  readonly #scratch: LocalBackend;
  /** The new files by name: their size, and their name in the directory. */
  readonly #files = new Map<string, { readonly sizeBytes: number; readonly path: string }>();

  #count = 0;

  private constructor(inner: Backend, scratch: LocalBackend) {
    super(inner);
    this.#inner = inner;
    this.#scratch = scratch;
    const copiesOf = inner.copiesOf?.bind(inner);
    if (copiesOf !== undefined) this.copiesOf = async (name) => (this.#files.has(name) ? [] : copiesOf(name));
  }

  static async open(inner: Backend, directory: string): Promise<ScratchBackend> {
    const scratch = new LocalBackend(directory);
    await scratch.prepare(['tmp', 'files']);
    return new ScratchBackend(inner, scratch);
  }

  get otherDirectories(): readonly string[] {
    return [...(this.#inner.otherDirectories ?? []), this.#scratch.localDirectory];
  }

  get offlineParts(): readonly string[] {
    return this.#inner.offlineParts ?? [];
  }

  override async list(directory: string): Promise<BackendFile[]> {
    const added = [...this.#files].filter(([name]) => name.startsWith(`${directory}/`));
    const files = [
      ...(await this.#inner.list(directory)),
      ...added.map(([name, { sizeBytes }]) => ({ name, sizeBytes })),
    ];
    return files.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  override async sizeOf(name: string): Promise<number | undefined> {
    return this.#files.get(name)?.sizeBytes ?? (await this.#inner.sizeOf(name));
  }

  override async sizesOf(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const sizes = new Map(await this.#inner.sizesOf(names.filter((name) => !this.#files.has(name))));
    for (const name of names) {
      const file = this.#files.get(name);
      if (file !== undefined) sizes.set(name, file.sizeBytes);
    }
    return sizes;
  }

  override async read(name: string): Promise<Uint8Array> {
    const path = this.#files.get(name)?.path;
    return path === undefined ? await this.#inner.read(name) : await this.#scratch.read(path);
  }

  override async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    const path = this.#files.get(name)?.path;
    if (path === undefined) await this.#inner.readRange(name, offset, target);
    else await this.#scratch.readRange(path, offset, target);
  }

  override async stage(): Promise<StagedFile> {
    const staged = await this.#scratch.stage();
    let sizeBytes = 0;
    return {
      append: async (bytes) => {
        await staged.append(bytes);
        sizeBytes += bytes.length;
      },
      flush: async () => staged.flush(),
      publish: async (name, verify, isNew) => {
        const path = this.#newPath();
        await staged.publish(path, verify, isNew);
        this.#files.set(name, { sizeBytes, path });
      },
      discard: async () => staged.discard(),
    };
  }

  override async publish(name: string, bytes: Uint8Array, verify?: Verify): Promise<void> {
    const path = this.#newPath();
    await this.#scratch.publish(path, bytes, verify);
    this.#files.set(name, { sizeBytes: bytes.length, path });
  }

  /** Numbered, since the directories of packs do not exist there. */
  #newPath(): string {
    this.#count += 1;
    return `files/${this.#count}`;
  }

  override async move(source: string): Promise<void> {
    assert.fail(`${source} cannot be moved: the repository is only read`);
  }

  override async remove(name: string): Promise<boolean> {
    return assert.fail(`${name} cannot be removed: the repository is only read`);
  }

  override async barrier(): Promise<void> {
    // Nothing must be durable.
  }

  override async settle(): Promise<void> {
    // As above.
  }

  /** Closes the new files. The other backend stays open. */
  async closeScratch(): Promise<void> {
    await this.#scratch.close();
  }
}
