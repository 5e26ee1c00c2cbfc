import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RefusedError } from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { Repository } from '../../../src/core/repository/repository.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

test('a process that lost its lock writes no checkpoint: it could bring back what another gave up', async () => {
  const backend = new MemoryBackend();
  await initRepository({ backend });
  const repository = await Repository.open({ backend, mode: 'shared' });
  const { state } = await repository.openState();
  const lock = backend.names().find((name) => name.startsWith('locks/'))!;
  await backend.remove(lock);
  const before = backend.names();
  await expect(repository.writeCheckpoint(state)).rejects.toThrow(RefusedError);
  expect(backend.names()).toEqual(before);
  await repository.close();
});

/** Takes every lock away as soon as a checkpoint has its name: the holder slept, and somebody took it for dead. */
class LockThief extends FaultyBackend {
  override async rename(source: string, target: string): Promise<void> {
    await super.rename(source, target);
    if (!target.startsWith('filter/')) return;
    for (const { name } of await this.inner.list('locks')) await this.inner.release(name);
  }
}

test('a compaction that lost its lock removes nothing more', async () => {
  const backend = new MemoryBackend();
  const source = memoryDirectory();
  writeFileSync(join(source, 'photo'), 'the only copy');
  await initRepository({ backend });
  await backup({ backend }, { sources: [source], cwd: source });
  await deleteSnapshots({ backend }, { selectors: ['latest'], reclaim: false });
  const kept = (): string[] => backend.names().filter((name) => /^(packs|index|deleted)\//.test(name));
  const before = kept();
  await expect(compact({ backend: new LockThief(backend) })).rejects.toThrow(RefusedError);
  expect(before.length).toBeGreaterThan(3);
  expect(kept()).toEqual(before);
});

test('a delete that lost its lock deletes nothing: it may have been measured against what is gone', async () => {
  const backend = new MemoryBackend();
  const source = memoryDirectory();
  writeFileSync(join(source, 'photo'), 'the only copy');
  await initRepository({ backend });
  await backup({ backend }, { sources: [source], cwd: source });
  const before = backend.names().filter((name) => name.startsWith('snapshots/'));
  // Suspended at the last thing that it reads before it deletes.
  const list = backend.list.bind(backend);
  backend.list = async (directory) => {
    const files = await list(directory);
    if (directory === 'packs')
      for (const name of backend.names()) if (name.startsWith('locks/')) await backend.remove(name);
    return files;
  };
  await expect(deleteSnapshots({ backend }, { selectors: ['latest'], reclaim: false })).rejects.toThrow(RefusedError);
  expect(backend.names().filter((name) => /^(snapshots|deleted)\//.test(name))).toEqual(before);
});
