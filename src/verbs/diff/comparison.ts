import { SourceError, isDamage } from '../../core/errors.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { pathOf } from '../../core/util/path-node.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import type { EntryChange } from '../../core/snapshots/entry-changes.ts';
import type { SideDirectory, SideEntries, SideEntry } from './side.ts';

/** An entry that only one of the sides has. */
export interface LoneEntry {
  readonly path: PathNode;
  readonly entry: Pick<TreeEntry, 'type' | 'sizeBytes' | 'chunkIds'>;
  readonly directory: SideDirectory | undefined;
}

export interface ComparisonOptions {
  readonly pacer: Pacer;
  /** Returns how two entries of the same path differ. The contents of directories are compared later. */
  readonly changeOf: (
    before: TreeEntry,
    after: TreeEntry,
    path: PathNode,
  ) => EntryChange | undefined | Promise<EntryChange | undefined>;
  readonly onChange: (path: PathNode, change: EntryChange, before: TreeEntry, after: TreeEntry) => void;
  readonly onLone: (side: 'before' | 'after', lone: LoneEntry) => void;
  /** Called for each entry of directories that differ, and for the directories themselves. */
  readonly onRead?: ((side: 'before' | 'after', ids: Uint8Array, isTree: boolean) => void) | undefined;
  /** A directory that cannot be read. What is in it is not compared, on either side. */
  readonly onUnreadable: (side: 'before' | 'after', path: ByteString, error: Error) => void;
}

interface OpenPair {
  readonly path: PathNode | undefined;
  readonly before: SideEntries;
  readonly after: SideEntries;
  /** The next entry of each side. */
  left: SideEntry | undefined;
  right: SideEntry | undefined;
}

const NOTHING: SideEntries = { next: () => undefined };

/** Compares two directories. Reads a directory only if the other side has another one, or none, in its place. */
export class Comparison {
  readonly #options: ComparisonOptions;
  readonly #stack: OpenPair[] = [];

  constructor(options: ComparisonOptions) {
    this.#options = options;
  }

  /** Compares two directories with everything below them; what only one of them has is not entered. */
  async run(before: SideDirectory, after: SideDirectory): Promise<void> {
    await this.#enter(undefined, before, after);
    for (let pair = this.#stack.at(-1); pair !== undefined; pair = this.#stack.at(-1)) {
      const { left, right } = pair;
      if (left === undefined && right === undefined) this.#stack.pop();
      else await this.#compareNext(pair, left, right);
      const pause = this.#options.pacer.pause();
      if (pause !== undefined) await pause;
    }
  }

  /** Reports what is in a directory that only one side has, not what is below it. */
  async list(side: 'before' | 'after', { path, directory }: LoneEntry): Promise<void> {
    const entries = await this.#open(side, path, directory);
    for (let each = entries?.next(); each !== undefined; each = entries?.next()) {
      this.#lone(side, path, each);
      const pause = this.#options.pacer.pause();
      if (pause !== undefined) await pause;
    }
  }

  async #compareNext(pair: OpenPair, left: SideEntry | undefined, right: SideEntry | undefined): Promise<void> {
    const isLeft = left !== undefined && (right === undefined || left.name <= right.name);
    const isRight = right !== undefined && (left === undefined || right.name <= left.name);
    if (isLeft) pair.left = pair.before.next();
    if (isRight) pair.right = pair.after.next();
    if (isLeft && isRight) await this.#compare(pair, left, right);
    else if (isLeft) this.#lone('before', pair.path, left);
    else this.#lone('after', pair.path, right!);
  }

  async #compare(pair: OpenPair, before: SideEntry, after: SideEntry): Promise<void> {
    if (before.entry === undefined || after.entry === undefined) return;
    this.#read('before', before.entry);
    this.#read('after', after.entry);
    const path: PathNode = { parent: pair.path, name: before.name };
    const comparing = this.#options.changeOf(before.entry, after.entry, path);
    const change = comparing instanceof Promise ? await comparing : comparing;
    if (change !== undefined) this.#options.onChange(path, change, before.entry, after.entry);
    if (before.directory !== undefined && after.directory !== undefined)
      return await this.#enter(path, before.directory, after.directory);
    if (before.directory !== undefined) await this.list('before', { ...before, path, entry: before.entry });
    if (after.directory !== undefined) await this.list('after', { ...after, path, entry: after.entry });
  }

  async #enter(path: PathNode | undefined, before: SideDirectory, after: SideDirectory): Promise<void> {
    const [left, right] = [before.treeId, after.treeId];
    if (left !== undefined && right !== undefined && Buffer.compare(left, right) === 0) return;
    const opened = { before: await this.#open('before', path, before), after: await this.#open('after', path, after) };
    // Without one side, everything on the other one would look removed or added.
    if (opened.before === undefined || opened.after === undefined) return;
    const pair = { path, before: opened.before, after: opened.after };
    this.#stack.push({ ...pair, left: pair.before.next(), right: pair.after.next() });
  }

  async #open(
    side: 'before' | 'after',
    path: PathNode | undefined,
    directory: SideDirectory | undefined,
  ): Promise<SideEntries | undefined> {
    if (directory === undefined) return NOTHING;
    try {
      const entries = await directory.open();
      if (directory.treeId !== undefined) this.#options.onRead?.(side, directory.treeId, true);
      return entries;
    } catch (error) {
      if (!isDamage(error) && !(error instanceof SourceError)) throw error;
      this.#options.onUnreadable(side, path === undefined ? ('' as ByteString) : pathOf(path), error);
      return undefined;
    }
  }

  #lone(side: 'before' | 'after', parent: PathNode | undefined, { name, entry, directory }: SideEntry): void {
    if (entry === undefined) return;
    this.#read(side, entry);
    this.#options.onLone(side, { path: { parent, name }, entry, directory });
  }

  #read(side: 'before' | 'after', entry: TreeEntry): void {
    if (entry.type === 'file' && this.#options.onRead !== undefined) this.#options.onRead(side, entry.chunkIds, false);
  }
}
