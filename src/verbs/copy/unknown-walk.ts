import type { OpenedState } from '../../core/repository/opened-state.ts';
import { walkSnapshot } from '../../core/repository/tree-walk.ts';
import type { TreeStep, TreeWalk } from '../../core/repository/tree-walk.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import { chunksOfFile } from '../../core/snapshots/file-chunks.ts';
import { EntrySet } from '../../core/snapshots/live-walk.ts';
import type { Content } from './cut-memo.ts';
import { asSourceDamage, readSource } from './source-damage.ts';

/** What a walk finds below the root of a snapshot. */
interface UnknownVisitor {
  /** Whether a tree and everything below it is in the destination. */
  isKnownTree(entry: number): boolean;
  /** A file that is not empty. If it returns a promise, the walk waits for it. */
  file(content: Content): Promise<void> | undefined;
  /** A tree that is not known, after everything below it. */
  tree(entry: number): void;
}

/**
 * Visits what is below a root of the source and not below a known tree: each tree once, and the files in the order in
 * which they were stored.
 * @throws SourceDamage
 */
export async function walkUnknown(
  { source, pacer }: { readonly source: OpenedState; readonly pacer: Pacer },
  root: Uint8Array,
  visitor: UnknownVisitor,
): Promise<void> {
  const walk = walkSnapshot(source.reader, root);
  const visited = new EntrySet();
  for (;;) {
    const next = walk.next();
    const step = next instanceof Promise ? await next : next;
    if (step === undefined) return;
    const visiting = visit({ walk, step, source, visited }, visitor);
    if (visiting !== undefined) await visiting;
    const pause = pacer.pause();
    if (pause !== undefined) await pause;
  }
}

interface Visit {
  readonly walk: TreeWalk;
  readonly step: TreeStep;
  readonly source: OpenedState;
  readonly visited: EntrySet;
}

function visit({ walk, step, source, visited }: Visit, visitor: UnknownVisitor): Promise<void> | undefined {
  const { kind, entry } = step;
  if (kind === 'unreadable') throw asSourceDamage(step.error, step);
  if (kind === 'entry') {
    if (entry.type !== 'file' || (entry.sizeBytes === 0 && entry.chunkIds.length === 0)) return undefined;
    return visitor.file(readSource(() => chunksOfFile(source, entry), step));
  }
  const tree = readSource(() => source.reader.entryOf(entry.treeId!, 0), step);
  if (kind === 'leave') visitor.tree(tree);
  else if (visitor.isKnownTree(tree) || !visited.add(tree)) walk.skip();
  return undefined;
}
