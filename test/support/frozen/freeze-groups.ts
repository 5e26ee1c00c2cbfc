import { compact } from '../../../src/core/removing/compact.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { drainGroup, rebalanceGroups } from '../../../src/core/copies/group-moves.ts';
import { addGroup, setCopies } from '../../../src/verbs/group/groups.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { TINY_CHUNKS } from '../test-repository.ts';
import type { FrozenBench } from './frozen-bench.ts';

/** The list of groups has version 1, since it has no rule about copies. */
export async function freezeSingleWriter(name: string, bench: FrozenBench): Promise<void> {
  const context = bench.context();
  const groups = [{ name: 'disk', place: bench.place('disk') }];
  const chunker = { kind: 'fixed', sizeBytes: 2048 } as const;
  await initRepository(context, { chunker, chunkHash: 'sha256', capacity: 64, groups, singleWriter: true });
  await bench.save(context);
  bench.change();
  await bench.save(context);
  const snapshots = bench.treesOf(await listSnapshots(context));
  bench.freeze(name, { repository: 'repository', disk: 'disk' }, { repository: { snapshots } });
}

/** Two copies of each pack, three of what is needed often, copies that were moved, and a group that was emptied. */
export async function freezeGroups(name: string, bench: FrozenBench): Promise<void> {
  const context = bench.context('repository', 6000);
  const [a, b, c, old] = ['a', 'b', 'c', 'old'].map((group) => ({ name: group, place: bench.place(group) }));
  await initRepository(context, { chunker: TINY_CHUNKS, capacity: 64, groups: [a!, b!, old!], copies: 2 });
  await bench.save(context);
  await drainGroup(context, 'old');
  await addGroup(context, { ...c!, weight: 2.5, capacityBytes: 10_000_000 });
  bench.change();
  await bench.save(context);
  bench.change();
  await bench.save(context);
  await setCopies(context, { copies: 2, copiesIfRefs: { refs: 5, copies: 3 } });
  await rebalanceGroups(context);
  await compact(context);
  const parts = Object.fromEntries(['repository', 'a', 'b', 'c', 'old'].map((part) => [part, part]));
  bench.freeze(name, parts, { repository: { snapshots: bench.treesOf(await listSnapshots(context)) } });
}
