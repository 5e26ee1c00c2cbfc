import { MemoryBackend, MemoryFile, parentOf } from './memory-backend.ts';
import { createPrng } from './prng.ts';
import type { Prng } from './prng.ts';

/** A seed of a power cut that shows best what relies on a name that is not durable. */
export const NEWEST_ONLY = -1;

/** A change of names that is not durable yet. */
type PendingChange =
  | { readonly kind: 'add'; readonly name: string; readonly file: MemoryFile; readonly oldName?: string }
  | { readonly kind: 'remove'; readonly name: string; readonly file: MemoryFile };

/**
 * A disk that knows what is durable. The bytes of a file survive a power cut only after `sync` of its writer; a name
 * appears or vanishes durably only after `syncDirectory` of its directory. A rename between directories is undone as long
 * as the new directory was not synced, and shows both names as long as the old one was not: no order is safe by luck.
 */
export class PowerCutBackend extends MemoryBackend {
  override readonly location: string = 'power-cut';
  readonly #durableNames = new Map<string, MemoryFile>();
  readonly #durableDirectories = new Set<string>(['']);
  readonly #durableLength = new WeakMap<MemoryFile, number>();
  #pending: PendingChange[] = [];

  /** Starts with what `initial` holds, all of it durable. */
  constructor(initial?: MemoryBackend) {
    super();
    if (initial !== undefined) {
      for (const name of initial.names()) this.share(name, initial.view(name));
      for (const directory of initial.directoryNames()) this.addDirectory(directory);
    }
    for (const directory of this.directories) this.#durableDirectories.add(directory);
  }

  override share(name: string, bytes: Buffer): void {
    super.share(name, bytes);
    const file = this.filesByName.get(name)!;
    this.#durableNames.set(name, file);
    this.#durableLength.set(file, file.lengthBytes);
    for (let inner = parentOf(name); inner !== ''; inner = parentOf(inner)) this.#durableDirectories.add(inner);
  }

  /**
   * What a machine finds after the power was cut now. Seed 0: everything that is not durable is lost. Seed 1: every name
   * is as it was last, but bytes that were not synced are lost. `NEWEST_ONLY`: of the names, only the last change is kept.
   * Any other seed: a mixture, the same for the same seed.
   */
  cut(seed = 0): MemoryBackend {
    const prng = createPrng(seed);
    const isKept = (): boolean => seed !== 0 && (seed === 1 || prng.int(2) === 0);
    const names = new Map(this.#durableNames);
    for (const change of this.#pending) {
      if (seed === NEWEST_ONLY ? change === this.#pending.at(-1) : isKept()) applyChange(names, change);
    }
    const found = new MemoryBackend();
    for (const directory of this.directories) {
      if (this.#durableDirectories.has(directory) || isKept()) found.pokeDirectory(directory);
    }
    for (const [name, file] of names) {
      // Where the name is kept its directory is too, unless the directory was never made durable and nothing was kept.
      const isReachable = this.#durableDirectories.has(parentOf(name)) || seed !== 0;
      if (isReachable) found.share(name, this.#survivingBytes(file, seed, prng));
    }
    return found;
  }

  protected override onCreate(name: string, file: MemoryFile): void {
    this.#pending.push({ kind: 'add', name, file });
  }

  protected override onRename(source: string, target: string, file: MemoryFile): void {
    this.#pending.push({ kind: 'add', name: target, file, oldName: source });
  }

  protected override onRemove(name: string, file: MemoryFile): void {
    this.#pending.push({ kind: 'remove', name, file });
  }

  protected override onSync(file: MemoryFile): void {
    this.#durableLength.set(file, file.lengthBytes);
  }

  protected override onSyncDirectory(directory: string): void {
    for (let inner = directory; inner !== ''; inner = parentOf(inner)) this.#durableDirectories.add(inner);
    // The name of a directory is in its parent, like that of a file.
    for (const made of this.directories) if (parentOf(made) === directory) this.#durableDirectories.add(made);
    this.#pending = this.#pending.flatMap((change) => {
      if (parentOf(change.name) !== directory) return [change];
      applyChange(this.#durableNames, { ...change, ...(change.kind === 'add' ? { oldName: undefined } : {}) });
      return change.kind === 'add' && change.oldName !== undefined
        ? this.#settleOldName(change.oldName, change.file, directory)
        : [];
    });
  }

  /** The old name of a durable rename goes with it in the same directory, and otherwise when its own is synced. */
  #settleOldName(oldName: string, file: MemoryFile, directory: string): PendingChange[] {
    const removal: PendingChange = { kind: 'remove', name: oldName, file };
    if (parentOf(oldName) !== directory) return [removal];
    applyChange(this.#durableNames, removal);
    return [];
  }

  /** The synced bytes, and in a mixture perhaps some more: cut short, or as zeros where only the new length arrived. */
  #survivingBytes(file: MemoryFile, seed: number, prng: Prng): Buffer {
    const durableBytes = this.#durableLength.get(file) ?? 0;
    const bytes = file.view();
    if (durableBytes === bytes.length) return bytes;
    if (seed <= 1) return bytes.subarray(0, durableBytes);
    const keptBytes = durableBytes + prng.int(bytes.length - durableBytes + 1);
    return prng.int(2) === 0 ? bytes.subarray(0, keptBytes) : Buffer.from(bytes).fill(0, keptBytes);
  }
}

interface NameChange {
  readonly kind: 'add' | 'remove';
  readonly name: string;
  readonly file: MemoryFile;
  readonly oldName?: string | undefined;
}

/** A name is taken away only from the file that the change meant: by now it may belong to another. */
function applyChange(names: Map<string, MemoryFile>, change: NameChange): void {
  const removedName = change.kind === 'remove' ? change.name : change.oldName;
  if (change.kind === 'add') names.set(change.name, change.file);
  if (removedName !== undefined && names.get(removedName) === change.file) names.delete(removedName);
}
