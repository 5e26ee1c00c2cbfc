import { walkLive } from '../../src/core/snapshots/live-walk.ts';
import { Repository } from '../../src/core/repository/repository.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { unlockOfTests } from './simulated-process.ts';

/** A copy of a repository in which no process holds a lock. */
export function copyWithoutLocks(disk: MemoryBackend): MemoryBackend {
  const copy = disk.copy();
  for (const name of copy.names().filter((each) => each.startsWith('locks/'))) void copy.remove(name);
  return copy;
}

/** Returns the ids, in hex, of the chunks that a tree needs: those that are indexed, and those that are missing. */
export async function readNeededChunks(
  disk: MemoryBackend,
  tree: string,
): Promise<{ readonly needed: ReadonlySet<string>; readonly missing: readonly string[] }> {
  const repository = await Repository.open({ backend: copyWithoutLocks(disk), mode: 'shared', unlock: unlockOfTests });
  const opened = await repository.openState({ ignoreCheckpoints: true });
  const { reached, missing } = await walkLive(opened, [Buffer.from(tree, 'hex')]);
  const needed = new Set<string>();
  const bytes = Buffer.alloc(20);
  opened.state.filter.forEachEntry((entry) => {
    if (!reached.has(entry)) return;
    opened.state.filter.copyId(entry, bytes, 0);
    needed.add(bytes.toString('hex'));
  });
  await repository.close();
  return { needed, missing };
}
