import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { pinSnapshots, tagSnapshots } from '../../../src/verbs/tag/tag.ts';
import { currentLockOwner } from '../../../src/core/repository/locks/lock-owner.ts';
import { FaultyBackend, SimulatedCrash } from '../faulty-backend.ts';
import type { FaultOptions } from '../faulty-backend.ts';
import { TINY_CHUNKS } from '../test-repository.ts';
import type { FrozenBench } from './frozen-bench.ts';

const ALONE = { repository: '.' };
/** For ever. */
const UNTIL = '2999-01-01T00:00:00.000Z';

/**
 * Of five snapshots, two were deleted for a time, and the space of one more is not reclaimed yet. One of the two has only
 * its new manifest. The newest one was tagged and pinned.
 */
export async function freezeDeleted(name: string, bench: FrozenBench): Promise<void> {
  const context = bench.context();
  await initRepository(context, { chunker: TINY_CHUNKS, capacity: 64 });
  const ids: string[] = [];
  for (let version = 0; version < 5; version += 1) {
    ids.push(await bench.save(context));
    bench.change();
  }
  await deleteSnapshots(context, { selectors: [ids[1]!], undoUntil: UNTIL });
  await compact(context, { maxUnusedPercent: 0 });
  await deleteSnapshots(context, { selectors: [ids[2]!], undoUntil: UNTIL });
  await deleteSnapshots(context, { selectors: [ids[3]!], reclaim: false });
  await tagSnapshots(context, { selectors: ['latest'], add: ['kept'] });
  await pinSnapshots(context, { selectors: ['latest'], until: UNTIL });
  const [snapshots, deleted] = [await listSnapshots(context), await listSnapshots(context, { deleted: true })];
  bench.freeze(name, ALONE, { '.': { snapshots: bench.treesOf(snapshots), deleted: bench.treesOf(deleted) } });
}

/** A delete whose compaction died after its condemnation, and before that a repair, too. */
export async function freezeCondemned(name: string, bench: FrozenBench): Promise<void> {
  const context = bench.context();
  await initRepository(context, { chunker: TINY_CHUNKS, capacity: 64 });
  const first = await bench.save(context);
  bench.change();
  const before = packsOf(bench);
  await bench.save(context);
  await deleteSnapshots(context, { selectors: [first], reclaim: false });
  damageFooter(packsOf(bench).find((path) => !before.includes(path) && readFileSync(path)[12] === 2)!);
  const setsAside = (operation: string, file: string): boolean => operation === 'rename' && file.startsWith('packs/');
  await dying(context, { failAt: 1, only: setsAside }, async (other) => repair(other));
  const removes = (operation: string, file: string): boolean => operation === 'remove' && !/^(locks|tmp)/.test(file);
  await dying(context, { failAt: 2, only: removes }, async (other) => compact(other, { maxUnusedPercent: 0 }));
  bench.freeze(name, ALONE, { '.': { snapshots: bench.treesOf(await listSnapshots(context)) } });
}

function packsOf(bench: FrozenBench): string[] {
  const directory = bench.place('repository/packs');
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true, encoding: 'utf8' });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Everything in the pack can still be read. */
function damageFooter(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length - 30]! ^= 1;
  writeFileSync(path, bytes);
}

let deaths = 0;

async function dying(
  context: OperationContext & { readonly backend: LocalBackend },
  fault: FaultOptions,
  act: (context: OperationContext) => Promise<unknown>,
): Promise<void> {
  deaths += 1;
  const backend = new FaultyBackend(context.backend, { ...fault, mode: 'crash' });
  // Its lock is seen to be that of a dead process.
  const lockOwner = { ...currentLockOwner(), startTime: `dead${deaths}` };
  const end = await act({ ...context, backend, lockOwner }).catch((error: unknown) => error);
  backend.assertFired();
  if (!(end instanceof SimulatedCrash)) throw end;
}
