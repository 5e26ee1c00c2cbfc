import { Repository } from '../../core/repository/repository.ts';
import type { Caller } from '../../core/session/caller.ts';
import { chunkerOf, haveSameChunker, haveSameIds } from '../../core/saving/chunker-of.ts';
import { ChunkCopier } from './chunk-copier.ts';
import type { CopierServices } from './content-copier.ts';
import type { CopiesThere } from '../../core/snapshots/copies-there.ts';
import { findEarlierCopies } from './earlier-copies.ts';
import { learnFromCopy } from './earlier-copy.ts';
import { Recutter } from './recutter.ts';
import type { SourceSnapshot } from './select-for-copy.ts';
import { SnapshotCopier } from './snapshot-copier.ts';

/** Returns a copier that knows what earlier copies of the same files have in the destination. */
export async function openCopier(
  sides: CopySides,
  services: CopierServices,
  given: {
    /** All snapshots of the source, oldest first, and those that are to be copied. */
    readonly all: readonly SourceSnapshot[];
    readonly missing: readonly SourceSnapshot[];
    readonly copies: CopiesThere;
  },
): Promise<SnapshotCopier> {
  const { source, destination } = sides;
  const copier = newCopier(sides, services);
  const { state, needsCondemned } = services.destination;
  // With the same ids and chunks, every look-up says it. What is not complete cannot be relied on.
  const hasSameChunks = haveSameIds(source, destination) && haveSameChunker(source, destination);
  if (hasSameChunks || !state.isComplete || needsCondemned) return copier;
  const missingIds = new Set(given.missing.map(({ id }) => id));
  for (const { snapshot, copyId } of findEarlierCopies(given.all, given.copies, ({ id }) => missingIds.has(id))) {
    const copyRoot = state.snapshots.get(copyId)?.tree;
    const roots = copyRoot && { root: snapshot.root, copyRoot };
    if (roots !== undefined && !(await learnFromCopy(services, copier, roots))) return newCopier(sides, services);
  }
  return copier;
}

function newCopier({ source, destination }: CopySides, services: CopierServices): SnapshotCopier {
  const contents = haveSameChunker(source, destination)
    ? new ChunkCopier(services, { hasSameIds: haveSameIds(source, destination) })
    : new Recutter(services, chunkerOf(destination));
  return new SnapshotCopier(services, contents);
}

/** Two repositories. The notices of `context` are about neither, those of `there` about the destination. */
export interface CopySides {
  readonly context: Caller;
  readonly source: Repository;
  readonly there: Caller;
  readonly destination: Repository;
}
