import type { TreeEntry } from '../../format/tree.ts';
import type { StateReader } from '../../repository/state-reader.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { joinPath } from '../../util/byte-string.ts';
import { readEntries } from '../snapshot-path.ts';
import type { SnapshotPlace } from '../snapshot-path.ts';

/** What a restore does, one thing after the other. */
export type RestoreStep =
  | { readonly kind: 'enter' | 'leave' | 'entry'; readonly path: ByteString; readonly entry: TreeEntry }
  | { readonly kind: 'unreadable'; readonly path: ByteString; readonly entry: TreeEntry; readonly error: unknown };

interface OpenTree {
  readonly path: ByteString;
  readonly entries: TreeEntry[];
  readonly directory: TreeEntry | undefined;
}

/** Turns the trees of a snapshot into steps: a directory is entered, filled and left. */
export class RestoreSteps {
  readonly #reader: StateReader;
  readonly #stack: OpenTree[];
  readonly #queue: RestoreStep[] = [];
  #head = 0;

  constructor(reader: StateReader, place: SnapshotPlace) {
    this.#reader = reader;
    this.#stack = [{ path: '' as ByteString, entries: place.entries.toReversed(), directory: undefined }];
  }

  get waitingCount(): number {
    return this.#queue.length - this.#head;
  }

  get isAtEnd(): boolean {
    return this.#stack.length === 0;
  }

  take(): RestoreStep | undefined {
    const step = this.#queue[this.#head];
    this.#head += 1;
    if (this.#head < 1024) return step;
    this.#queue.splice(0, this.#head);
    this.#head = 0;
    return step;
  }

  /** Adds at least one step to the queue, unless the walk is at its end. `onFile` sees each file as it is queued. */
  async advance(onFile: (entry: TreeEntry) => void): Promise<void> {
    const tree = this.#stack.at(-1);
    if (tree === undefined) return;
    for (let entry = tree.entries.pop(); entry !== undefined; entry = tree.entries.pop()) {
      const path = joinPath(tree.path, entry.name);
      if (entry.treeId !== undefined) return await this.#enter(path, entry, entry.treeId);
      this.#queue.push({ kind: 'entry', path, entry });
      if (entry.type === 'file') onFile(entry);
    }
    this.#stack.pop();
    if (tree.directory !== undefined) this.#queue.push({ kind: 'leave', path: tree.path, entry: tree.directory });
  }

  async #enter(path: ByteString, entry: TreeEntry, treeId: Uint8Array): Promise<void> {
    this.#queue.push({ kind: 'enter', path, entry });
    try {
      this.#stack.push({ path, entries: (await readEntries(this.#reader, treeId)).toReversed(), directory: entry });
    } catch (error) {
      this.#queue.push({ kind: 'unreadable', path, entry, error }, { kind: 'leave', path, entry });
    }
  }
}
