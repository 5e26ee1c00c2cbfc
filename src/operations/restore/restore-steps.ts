import type { TreeEntry } from '../../format/tree.ts';
import type { StateReader } from '../../repository/state-reader.ts';
import type { PathNode } from '../../util/path-node.ts';
import { readTree } from '../snapshot-path.ts';
import type { EntrySequence, SnapshotPlace } from '../snapshot-path.ts';

/** One action of a restore, on an entry below the target. */
export interface RestoreStep extends PathNode {
  readonly kind: 'enter' | 'leave' | 'entry' | 'unreadable';
  readonly entry: TreeEntry;
  /** Why the directory cannot be read. */
  readonly error?: unknown;
}

interface OpenTree {
  readonly entries: EntrySequence;
  /** Undefined for the top directory. */
  readonly directory: PathNode | undefined;
  readonly entry: TreeEntry | undefined;
}

/** Turns the trees of a snapshot into steps: enter a directory, restore its entries, leave it. */
export class RestoreSteps {
  readonly #reader: StateReader;
  readonly #stack: OpenTree[];
  readonly #queue: RestoreStep[] = [];
  #head = 0;

  constructor(reader: StateReader, place: SnapshotPlace) {
    this.#reader = reader;
    this.#stack = [{ entries: place.entries, directory: undefined, entry: undefined }];
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

  /**
   * Adds the next step to the queue, unless the walk has ended. Calls `onFile` for each file. Returns a promise only if
   * a tree has to be read.
   */
  advance(onFile: (entry: TreeEntry) => void): Promise<void> | undefined {
    const tree = this.#stack.at(-1);
    if (tree === undefined) return undefined;
    const entry = tree.entries.next();
    if (entry === undefined) {
      this.#stack.pop();
      this.#leave(tree);
      return undefined;
    }
    const place = { parent: tree.directory, name: entry.name };
    if (entry.treeId !== undefined) return this.#enter(place, entry, entry.treeId);
    this.#queue.push({ kind: 'entry', ...place, entry });
    if (entry.type === 'file') onFile(entry);
    return undefined;
  }

  async #enter(place: PathNode, entry: TreeEntry, treeId: Uint8Array): Promise<void> {
    const { parent, name } = place;
    this.#queue.push({ kind: 'enter', parent, name, entry });
    try {
      this.#stack.push({ entries: await readTree(this.#reader, treeId), directory: place, entry });
    } catch (error) {
      this.#queue.push({ kind: 'unreadable', parent, name, entry, error }, { kind: 'leave', parent, name, entry });
    }
  }

  #leave({ directory, entry }: OpenTree): void {
    if (directory === undefined || entry === undefined) return;
    this.#queue.push({ kind: 'leave', parent: directory.parent, name: directory.name, entry });
  }
}

/** The kind of entry to count if the step fails. */
export function kindOf({ kind, entry }: RestoreStep): 'file' | 'directory' | 'other' {
  if (kind !== 'entry') return 'directory';
  return entry.type === 'file' ? 'file' : 'other';
}
