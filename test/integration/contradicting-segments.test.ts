import { expect, test } from 'vitest';
import { check } from '../../src/verbs/check/check.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { DATA, chunkIdOf } from '../core/format/stranger-packs.ts';
import { fileEntry } from '../core/format/stranger-writer.ts';
import { HostilePlace } from '../support/fuzz/hostile-repository.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { threadsOfTests } from '../support/test-threads.ts';

/** The ids of segments are random, so that either the right one or the wrong one is read first. */
const ATTEMPTS_MAX = 64;

test('a segment that contradicts another one about a pack is reported, and a repair removes it', async () => {
  const place = new HostilePlace();
  const isRestored = new Set<boolean>();
  for (let attempt = 0; attempt < ATTEMPTS_MAX && isRestored.size < 2; attempt++) {
    const repository = await place.repository();
    const chunks = ['one', 'two', 'six'].map((text) => Buffer.from(text));
    const ids = chunks.map((chunk) => chunkIdOf(place.opened.config, DATA, chunk));
    const pack = await repository.pack(DATA, [repository.block(DATA, ...chunks)]);
    await repository.finish(repository.tree(...ids.map((id, i) => fileEntry(`file-${i}`, 3, [id]))));
    repository.segment([{ ...pack, blocks: [{ ...pack.blocks[0]!, chunkIds: ids.toReversed() }] }]);
    const context = { backend: repository.disk, password: place.password, threads: threadsOfTests() };
    const restored = async (): Promise<boolean> =>
      (await restore(context, { selector: 'latest', target: memoryDirectory() })).problems.length === 0;

    const { findings } = await check(context, { readData: true });
    expect(findings.map(({ kind }) => kind)).toContain('segment-damaged');
    // The pack is read as the first segment says, so with the wrong one first its chunks are not found.
    const wasRestored = await restored();
    expect(findings.some(({ kind }) => kind === 'pack-damaged')).toBe(!wasRestored);
    isRestored.add(wasRestored);
    const { actions, remaining } = await repair(context);
    expect(actions.map(({ kind }) => kind)).toContain('segment-replaced');
    expect(remaining).toEqual([]);
    expect((await check(context, { readData: true })).findings).toEqual([]);
    expect(await restored()).toBe(true);
  }
  expect(isRestored.size).toBe(2);
});
