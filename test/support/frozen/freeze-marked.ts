import { addRepositoryKey } from '../../../src/verbs/key/keys.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { rotateMasterKey } from '../../../src/verbs/key/key-rotation.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { testPassword } from '../test-password.ts';
import { TINY_CHUNKS } from '../test-repository.ts';
import type { FrozenBench } from './frozen-bench.ts';

const ALONE = { repository: '.' };

/** Two snapshots, with the marker that nothing may be removed. */
export async function freezeAppendOnly(name: string, bench: FrozenBench): Promise<void> {
  const context = bench.context();
  await initRepository(context, { chunker: TINY_CHUNKS, capacity: 64, appendOnly: true });
  await bench.save(context);
  bench.change();
  await bench.save(context, { comment: 'a note', tags: ['weekly'] });
  bench.freeze(name, ALONE, { '.': { snapshots: bench.treesOf(await listSnapshots(context)) } });
}

/** A snapshot under each of three master keys. */
export async function freezeRotated(name: string, bench: FrozenBench): Promise<void> {
  const context = bench.context();
  await initRepository(context, { chunker: TINY_CHUNKS, capacity: 64 });
  await bench.save(context);
  await addRepositoryKey(context, { role: 'backup', newPassword: testPassword('password of the earlier epoch') });
  await rotateMasterKey(context);
  bench.change();
  await bench.save(context);
  await rotateMasterKey(context);
  bench.change();
  await bench.save(context);
  bench.freeze(name, ALONE, { '.': { snapshots: bench.treesOf(await listSnapshots(context)) } });
}
