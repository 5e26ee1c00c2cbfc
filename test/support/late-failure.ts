import { FaultyBackend } from './faulty-backend.ts';
import type { MemoryBackend } from './memory-backend.ts';

/** Fails to name its packs, but only after `meanwhile` is done: a backup of the same bytes, which made the same packs. */
export class LateFailure extends FaultyBackend {
  readonly #at: 'rename' | 'syncDirectory';
  readonly #meanwhile: () => Promise<void>;

  constructor(inner: MemoryBackend, at: 'rename' | 'syncDirectory', meanwhile: () => Promise<void>) {
    const isNaming = (name: string): boolean => name === 'index' || name.includes(' -> index/');
    super(inner, { only: (operation, name) => operation === at && isNaming(name), repeat: true, failAt: 1 });
    this.#at = at;
    this.#meanwhile = meanwhile;
  }

  override async rename(source: string, target: string): Promise<void> {
    if (this.#at === 'rename' && target.startsWith('index/') && !this.fired) await this.#meanwhile();
    await super.rename(source, target);
  }

  override async syncDirectory(directory: string): Promise<void> {
    if (this.#at === 'syncDirectory' && directory === 'index' && !this.fired) await this.#meanwhile();
    await super.syncDirectory(directory);
  }
}
