import { expect, test } from 'vitest';

import { RepositoryChunkSaver } from '../../../src/core/saving/repository-chunk-saver.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compareStates } from '../../../src/core/damage/state-comparison.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import type { OpenedState } from '../../../src/core/repository/opened-state.ts';
import type { Repository } from '../../../src/core/repository/repository.ts';
import { filesIn } from '../../support/damage.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';

const KIB = 1024;

async function emptyRepository(): Promise<{ backend: MemoryBackend; context: OperationContext }> {
  const backend = new MemoryBackend();
  await initRepository({ backend });
  return { backend, context: simulatedProcess(backend) };
}

interface Saving {
  readonly repository: Repository;
  readonly opened: OpenedState;
  readonly chunks: RepositoryChunkSaver;
  readonly put: (bytes: Uint8Array) => Promise<Uint8Array>;
}

/** Runs `action` with a saver; `condemned` says which of the indexed packs may disappear. */
async function saving(
  context: OperationContext,
  action: (saving: Saving) => Promise<void>,
  condemned: (packIds: readonly string[]) => readonly string[] = () => [],
): Promise<void> {
  await withRepository(context, 'shared', async (repository) => {
    const opened = await repository.openState();
    const condemnedPackIds = new Set(condemned([...opened.state.packs.ids()]));
    const chunks = new RepositoryChunkSaver(repository, opened.state, { writes: true, condemnedPackIds });
    const put = async (bytes: Uint8Array): Promise<Uint8Array> => {
      const id = repository.hasher.dataId(bytes);
      await chunks.put('data', id, bytes);
      return id;
    };
    await action({ repository, opened, chunks, put });
  });
}

test('a chunk is stored once, whether it comes whole or staged', async () => {
  const { context } = await emptyRepository();
  const bytes = createPrng(1).bytes(2 * KIB);
  await saving(context, async ({ chunks, put }) => {
    const id = await put(bytes);
    await put(bytes);
    expect(await chunks.putStaged(chunks.stage(bytes))).toEqual(id);
    expect(chunks.has(id, 0)).toBe(true);
    expect(chunks.hasFile(Buffer.concat([id, id]), 2 * bytes.length)).toBe(true);
    expect(chunks.hasFile(id, bytes.length + 1)).toBe(false);
    await chunks.finish();
    expect(chunks.counts).toMatchObject({ dataBlobs: 1, treeBlobs: 0, dataAdded: bytes.length });
  });
  await saving(context, async ({ chunks, put }) => {
    await put(bytes);
    expect(chunks.counts.dataBlobs).toBe(0);
    expect(chunks.reused).toMatchObject({ chunkCount: 1, bytes: bytes.length });
  });
});

test('the state at hand stays as it is, whatever is stored, and can be brought up to date', async () => {
  const { context } = await emptyRepository();
  const prng = createPrng(2);
  const known = prng.bytes(2 * KIB);
  await saving(context, async ({ chunks, put }) => {
    await put(known);
    await chunks.finish();
  });
  const packCondemned = (ids: readonly string[]): readonly string[] => ids;
  await saving(
    context,
    async ({ repository, opened, chunks, put }) => {
      const id = await put(known);
      await put(known);
      await put(prng.bytes(2 * KIB));
      // The known chunk again, because its pack is condemned.
      expect(chunks.counts.dataBlobs).toBe(2);
      expect(chunks.has(id, 0)).toBe(true);
      const untouched = await repository.openState({ ignoreCheckpoints: true });
      expect(compareStates(opened.state, untouched.state)).toEqual({ count: 0, shown: [] });
      await chunks.finish();
      const updated = await repository.openState({ from: opened });
      expect(updated.state).toBe(opened.state);
      const rebuilt = await repository.openState({ ignoreCheckpoints: true });
      expect(compareStates(updated.state, rebuilt.state)).toEqual({ count: 0, shown: [] });
      expect(rebuilt.state.filter.deadCount).toBe(2);
    },
    packCondemned,
  );
});

test('a segment is published whenever enough is unindexed, and for the rest at the end', async () => {
  const { backend, context } = await emptyRepository();
  const prng = createPrng(3);
  await saving(context, async ({ chunks, put }) => {
    for (let count = 0; count < 40; count += 1) await put(prng.bytes(2 * KIB));
    const early = filesIn(backend, 'index').length;
    expect(early).toBeGreaterThan(1);
    await chunks.finish();
    expect(filesIn(backend, 'index')).toHaveLength(early + 1);
  });
  await saving(context, async ({ opened }) => expect(opened.state.filter.deadCount).toBe(40));
  expect((await check({ backend }, { readData: true })).findings).toEqual([]);
});

test('a backup that is abandoned leaves an index of the packs that it wrote', async () => {
  const { backend, context } = await emptyRepository();
  const prng = createPrng(4);
  await saving(context, async ({ chunks, put }) => {
    // Enough for a pack, and too little for a segment.
    for (let count = 0; count < 8; count += 1) await put(prng.bytes(2 * KIB));
    while (filesIn(backend, 'packs').length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(filesIn(backend, 'index')).toEqual([]);
    await chunks.abandon();
  });
  expect(filesIn(backend, 'index')).toHaveLength(1);
  expect(filesIn(backend, 'tmp')).toEqual([]);
  await saving(context, async ({ opened }) => expect(opened.state.filter.deadCount).toBeGreaterThan(0));
});

test.each(['the lock', 'a pack'])('no segment lists new packs once %s is gone', async (gone) => {
  const { backend, context } = await emptyRepository();
  const prng = createPrng(5);
  const saved = saving(context, async ({ chunks, put }) => {
    for (let count = 0; count < 8; count += 1) await put(prng.bytes(2 * KIB));
    while (filesIn(backend, 'packs').length === 0) await new Promise((resolve) => setImmediate(resolve));
    const [name] = filesIn(backend, gone === 'a pack' ? 'packs' : 'locks');
    await backend.remove(name!);
    await chunks.finish();
  });
  await expect(saved).rejects.toThrow(gone === 'a pack' ? 'is gone' : 'lock');
  expect(filesIn(backend, 'index')).toEqual([]);
});
