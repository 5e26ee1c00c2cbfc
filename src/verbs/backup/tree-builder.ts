import { CancelledError, SourceError } from '../../core/errors.ts';
import { heldDirectoryCount } from '../../core/files/paths/held-directories.ts';
import { readMetadata } from '../../core/files/source/source-metadata.ts';
import { NO_ATTRIBUTES } from '../../core/format/tree/tree-entry.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import { buildEntry, buildOtherEntry, isSameEntry } from '../../core/sources/entry-builder.ts';
import type { EntryContent } from '../../core/sources/entry-builder.ts';
import type { KnownFile } from './file-store.ts';
import type { ParentSnapshot } from '../../core/sources/parent-snapshot.ts';
import type { SourcePlan } from '../../core/sources/source-plan.ts';
import { SourceWalk } from './source-walk.ts';
import type { EntryStep, FileStep, WalkStep, WalkedDirectory } from './walk-step.ts';
import type { WalkServices } from './walk-services.ts';

/** Maximum steps that the walk may be ahead of the storing. */
const STEPS_AHEAD_MAX = 512;
/** Directories with very long paths stay open until all in them is stored, and a process may open only 1024 files. */
const HELD_AHEAD_MAX = 64;

/** Stores the steps of a walk over the sources. Stores the tree of a directory once all its entries are stored. */
export class TreeBuilder {
  readonly #walk: SourceWalk;
  readonly #services: WalkServices;
  /** Steps that the walk has returned and that are not stored yet. */
  readonly #steps: WalkStep[] = [];
  /** The directory of the last step that was stored. */
  #position: WalkedDirectory | undefined;
  /** The walk does not run ahead while this many directories are held open. */
  #heldMax = HELD_AHEAD_MAX;

  constructor(plan: SourcePlan, services: WalkServices) {
    this.#walk = new SourceWalk(plan, services);
    this.#services = services;
  }

  /** Returns the id of the root tree. `parent`: what to compare the sources with. */
  async run(parent: ParentSnapshot | undefined): Promise<Uint8Array> {
    try {
      await this.#walk.begin(parent);
      for (;;) {
        for (let waiting = this.#walkAhead(); waiting !== undefined; waiting = this.#walkAhead()) await waiting;
        const step = this.#steps.shift()!;
        this.#position = step.directory;
        if (step.kind === 'leave') {
          const treeId = await this.#leave(step.directory);
          this.#position = step.directory.parent;
          if (this.#position === undefined) return treeId;
        } else {
          const storing = this.#store(step);
          if (storing !== undefined) await storing;
        }
        const pause = this.#services.pacer.pause();
        if (pause !== undefined) await this.#pause(pause, this.#position);
      }
    } catch (error) {
      if (error instanceof CancelledError) await this.#services.continuation.recordLast(this.#position);
      throw error;
    } finally {
      await this.#services.ahead.stop();
      this.#walk.close();
      for (const { directory } of this.#steps) directory.location.close();
    }
  }

  async #pause(pause: Promise<void>, position: WalkedDirectory): Promise<void> {
    await pause;
    await this.#services.continuation.recordIfDue(position);
  }

  /**
   * Lets the walk run ahead, so that small files are read while earlier steps are stored. If a promise is returned,
   * wait for it and call again.
   */
  #walkAhead(): Promise<unknown> | undefined {
    const { pacer } = this.#services;
    if (this.#steps.length === 0 && heldDirectoryCount() >= this.#heldMax) this.#restOuter();
    while (!this.#walk.isDone && (this.#steps.length === 0 || this.#mayWalkAhead())) {
      const found = this.#walk.next();
      if (found instanceof Promise) return found;
      if (found !== undefined) this.#steps.push(found);
      const pause = pacer.pause();
      if (pause !== undefined) return pause;
    }
    return undefined;
  }

  /** Called only while no step is waiting: nothing then uses the directories above the current one. */
  #restOuter(): void {
    this.#walk.restOuter();
    this.#heldMax = heldDirectoryCount() + HELD_AHEAD_MAX;
  }

  #mayWalkAhead(): boolean {
    const isFar = this.#steps.length >= STEPS_AHEAD_MAX || heldDirectoryCount() >= this.#heldMax;
    return !isFar && !this.#services.ahead.isFull;
  }

  #store(step: Exclude<WalkStep, { kind: 'leave' }>): Promise<void> | undefined {
    if (step.kind === 'file') return this.#storeFile(step);
    this.#addOther(step, step.entry);
    return undefined;
  }

  #addOther({ directory, previous }: FileStep | EntryStep, entry: TreeEntry): void {
    const { tally, listing } = this.#services;
    const change = tally.countOther(entry, previous);
    listing?.add({ parent: directory, name: entry.name }, change, entry.type);
    directory.tree.add(entry);
  }

  /** Returns a promise only if it has to wait: promises for small files were nearly half of the garbage of a backup. */
  #storeFile(step: FileStep): Promise<void> | undefined {
    const { directory, name, metadata, previous, attributes, ahead } = step;
    const { files, owners, tally } = this.#services;
    const known = step.known ?? files.linked(metadata);
    if (known !== undefined) {
      const isSame = known === previous && attributes === undefined && isSameEntry(previous, metadata, owners);
      // Those of another name that this backup has read, or else those of the entry that has the content.
      const kept = attributes ?? known.attributes ?? previous ?? NO_ATTRIBUTES;
      this.#add(step, isSame ? previous : buildEntry(name, metadata, owners, contentOf(known), kept), true);
      return undefined;
    }
    tally.begin({ parent: directory, name });
    const stored = ahead === undefined ? undefined : files.saveAtHand(ahead);
    if (stored === undefined) return this.#readFile(step);
    this.#add(step, buildEntry(name, metadata, owners, stored, stored.attributes), false);
    return stored.full;
  }

  #add({ directory, previous }: FileStep, entry: TreeEntry, isReused: boolean, isSplit?: boolean): void {
    const { tally, listing } = this.#services;
    const change = tally.countFile(entry, previous, isReused);
    listing?.add({ parent: directory, name: entry.name }, change, 'file', isSplit);
    directory.tree.add(entry);
  }

  async #readFile(step: FileStep): Promise<void> {
    const { directory, name, ahead } = step;
    const { files, changing, owners, problems } = this.#services;
    const place = { parent: directory, name };
    try {
      const splitting = await changing.splittingOf(place, step.metadata.sizeBytes, step.previous);
      const saved = await files.save(step, ahead, splitting);
      const attributes = this.#services.attributes.note(place, saved.attributes);
      // Reading it may have changed its access time.
      const metadata = { ...saved.metadata, accessTime: step.metadata.accessTime };
      this.#add(step, buildEntry(name, metadata, owners, saved, attributes), false, saved.isSplit);
      if (saved.changedWhileRead) {
        problems.report(place, 'changed', 'changed while it was read; the saved copy may mix old and new content');
      }
    } catch (error) {
      const entry = error instanceof SourceError ? this.#whatItIsNow(step) : undefined;
      if (entry === undefined) problems.skip(place, 'read', error, { mustExist: false });
      else this.#addOther(step, entry);
    }
  }

  /** Handles a file that a program has replaced since it was listed. Returns undefined for a file or directory. */
  #whatItIsNow({ directory, name, path }: FileStep): TreeEntry | undefined {
    try {
      const metadata = readMetadata(path, this.#services.recorded);
      if (metadata.type === 'file' || metadata.type === 'directory') return undefined;
      const { owners, attributes } = this.#services;
      const place = { parent: directory, name };
      const kept = attributes.ofOther(place, { metadata, previous: undefined }, path);
      return buildOtherEntry(name, path, metadata, owners, kept);
    } catch (error) {
      if (error instanceof SourceError) return undefined;
      throw error;
    }
  }

  async #leave(directory: WalkedDirectory): Promise<Uint8Array> {
    const { parent, name, metadata, attributes, location, previous, previousTree, tree } = directory;
    const { owners, tally, trees, listing } = this.#services;
    location.close();
    const treeId = await trees.save(tree, previousTree);
    if (parent !== undefined && metadata !== undefined) {
      const isKnown = previous !== undefined && attributes === undefined;
      const isSame = isKnown && hasTree(previous, treeId) && isSameEntry(previous, metadata, owners);
      const kept = attributes ?? previous ?? NO_ATTRIBUTES;
      const entry = isSame ? previous : buildEntry(name, metadata, owners, { treeId }, kept);
      const change = tally.countDirectory(entry, previous);
      listing?.add(directory, change, 'directory');
      parent.tree.add(entry);
    }
    return treeId;
  }
}

function contentOf({ chunkIds, sizeBytes, changedWhileRead }: KnownFile): EntryContent {
  return { chunkIds, sizeBytes, changedWhileRead };
}

function hasTree(entry: TreeEntry, treeId: Uint8Array): boolean {
  return entry.treeId !== undefined && Buffer.compare(entry.treeId, treeId) === 0;
}
