import { readdirSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';

import { backendFailure } from '../../../src/core/backend/backend-failure.ts';
import { CancelledError, RefusedError } from '../../../src/core/errors.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import type { ChunkSource } from '../../../src/core/session/chunk-source.ts';
import { SMALL_INIT, backupWork, setStage, BACKUP } from '../../support/crash-stage.ts';
import { filesIn, flip, missing, packsOfKind, presentIds, spoil, tryRestore } from '../../support/damage.ts';
import type { Damage } from '../../support/damage.ts';
import {
  filesWith,
  makeDamageStage,
  newestOf,
  riddled,
  restoreWith,
  spoilAtRandom,
  withDomain,
} from '../../support/domains.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { contents } from '../../support/repair-aftermath.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { seedsOf } from '../../support/seeds.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

test.each(seedsOf(12, 200))('whatever is damaged is fetched (seed %i)', async (seed) => {
  const stage = await makeDamageStage();
  const disk = await spoilAtRandom(stage, seed);
  const before = contents(disk);
  await withDomain(stage.backend.copy(), async (domain) => {
    for (const id of presentIds(stage)) {
      const { isClaimedWhole } = await tryRestore(disk, id, stage.trees.get(id)!);
      const { result, exitCode, tree } = await restoreWith(disk, { selector: id, fromDomains: domain });
      expect([seed, exitCode, result.problems]).toEqual([seed, 0, []]);
      expect(tree).toEqual(stage.trees.get(id));
      expect(result.fetched!.chunks > 0).toBe(!isClaimedWhole);
    }
  });
  expect(contents(disk)).toEqual(before);
});

describe('everything of one kind', () => {
  test.each(['data', 'tree'] as const)('without %s packs', async (kind) => {
    const stage = await makeDamageStage();
    const disk = await spoil(stage, ...packsOfKind(stage.backend, kind).map(missing));
    await withDomain(stage.backend.copy(), async (domain) => {
      const id = newestOf(stage);
      const fetched: string[] = [];
      const onFetched = (chunk: { readonly id: string }): void => void fetched.push(chunk.id);
      const { result, exitCode, tree } = await restoreWith(disk, { selector: id, fromDomains: domain, onFetched });
      expect([exitCode, tree]).toEqual([0, stage.trees.get(id)]);
      const { chunks, bytes, byDomain } = result.fetched!;
      expect(byDomain).toEqual([{ domain: 'north', chunks, bytes }]);
      expect(new Set(fetched).size).toBe(chunks);
      expect(fetched.length).toBe(chunks);
      // Each is asked for once, although trees are read several times.
      expect(domain.asked.toSorted()).toEqual(fetched.toSorted());
      expect(domain.peak).toBeLessThanOrEqual(8);
    });
  });

  test('without any pack or segment, from another repository with the same keys', async () => {
    const stage = await setStage(memoryDirectory(), BACKUP);
    const other = new MemoryBackend();
    await initRepository(simulatedProcess(other), {
      ...SMALL_INIT,
      copyParametersFrom: simulatedProcess(stage.backend),
    });
    const { snapshotId = '' } = await backupWork(simulatedProcess(stage.backend), stage.work);
    await backupWork(simulatedProcess(other), stage.work);
    const files = [...filesIn(stage.backend, 'packs'), ...filesIn(stage.backend, 'index')];
    const disk = await spoil(stage, ...files.map(missing));
    await withDomain(other, async (domain) => {
      const { exitCode, tree } = await restoreWith(disk, { selector: snapshotId, fromDomains: domain });
      expect([exitCode, tree]).toEqual([0, stage.workTree]);
    });
  });
});

test('a sound repository asks for nothing', async () => {
  const stage = await makeDamageStage();
  await withDomain(stage.backend.copy(), async (domain) => {
    const { result } = await restoreWith(stage.backend, { selector: newestOf(stage), fromDomains: domain });
    expect([result.fetched, domain.asked]).toEqual([{ chunks: 0, bytes: 0, byDomain: [] }, []]);
  });
});

test('only what a path or a pattern needs is fetched', async () => {
  const stage = await makeDamageStage();
  const disk = await spoil(stage, ...filesIn(stage.backend, 'packs').map(missing));
  const id = newestOf(stage);
  await withDomain(stage.backend.copy(), async (domain, opened) => {
    const needed = new Set<string>();
    await filesWith(opened, id, (hexId) => {
      needed.add(hexId);
      return false;
    });
    for (const options of [{ selector: `${id}:work/sub/deep` }, { selector: id, include: ['small'] }]) {
      domain.asked.length = 0;
      const { result } = await restoreWith(disk, { ...options, fromDomains: domain });
      expect(result.filesRestored).toBeGreaterThan(0);
      const data = domain.asked.filter((hexId) => needed.has(hexId));
      expect(data.length).toBe(result.filesRestored);
    }
  });
});

test.each(['missing', 'damaged'] as const)(
  'what no domain has and is %s is reported as lost, and only that',
  async (how) => {
    const stage = await makeDamageStage();
    const { backend } = stage;
    const spoilOne = (file: string): Damage => (how === 'missing' ? missing(file) : riddled(backend, file));
    const disk = await spoil(stage, ...packsOfKind(backend, 'data').map(spoilOne));
    // Every other one, in the order in which they are asked for: ids are random.
    const known = new Map<string, boolean>();
    const has = (hexId: string, kind: string): boolean => {
      if (kind === 'data' && !known.has(hexId)) known.set(hexId, known.size % 2 === 0);
      return kind === 'tree' || known.get(hexId)!;
    };
    const counts = { lost: 0, fetched: 0 };
    await withDomain(
      backend.copy(),
      async (domain, opened) => {
        for (const id of presentIds(stage)) {
          domain.asked.length = 0;
          const { result, exitCode, tree } = await restoreWith(disk, { selector: id, fromDomains: domain });
          const lost = await filesWith(opened, id, (hexId) => domain.asked.includes(hexId) && !has(hexId, 'data'));
          expect(exitCode).toBe(lost.length > 0 ? 1 : 0);
          expect([...stage.trees.get(id)!.keys()].filter((path) => !tree.has(path)).sort()).toEqual(lost);
          expect(result.filesFailed).toBe(lost.length);
          counts.lost += lost.length;
          counts.fetched += result.fetched!.chunks;
        }
      },
      has,
    );
    expect(counts.lost).toBeGreaterThan(0);
    expect(counts.fetched).toBeGreaterThan(0);
  },
);

describe('a source', () => {
  const brokenStage = async () => {
    const stage = await makeDamageStage();
    const disk = await spoil(stage, ...filesIn(stage.backend, 'packs').map((file) => flip(stage.backend, file, 200)));
    return { stage, disk, id: newestOf(stage) };
  };

  test('that lies is not believed, and the other domains are asked', async () => {
    const { stage, disk, id } = await brokenStage();
    await withDomain(stage.backend.copy(), async (domain) => {
      const fromDomains: ChunkSource = {
        fetch: async (chunkId, kind, except) => {
          const offered = await domain.fetch(chunkId, kind);
          if (except?.has('liar') === true || offered === undefined) return offered;
          return { bytes: Uint8Array.from(offered.bytes, (byte) => byte ^ 1), from: 'liar' };
        },
      };
      const { result, exitCode, tree, notices } = await restoreWith(disk, { selector: id, fromDomains });
      expect([exitCode, tree]).toEqual([0, stage.trees.get(id)]);
      expect(result.fetched!.byDomain.map(({ domain: name }) => name)).toEqual(['north']);
      expect(notices).toContainEqual(expect.objectContaining({ kind: 'domain-problem', domain: 'liar' }));
    });
  });

  test('that has nothing but lies restores nothing wrong', async () => {
    const stage = await makeDamageStage();
    const id = newestOf(stage);
    const damages = packsOfKind(stage.backend, 'data').map((file) => flip(stage.backend, file, 200));
    const disk = await spoil(stage, ...damages);
    const fetch = vi.fn(async () => ({ bytes: Buffer.from('wrong'), from: 'liar' }));
    const { result, exitCode, tree } = await restoreWith(disk, { selector: id, fromDomains: { fetch } });
    expect(fetch).toHaveBeenCalled();
    expect([exitCode, result.fetched]).toEqual([1, { chunks: 0, bytes: 0, byDomain: [] }]);
    const without = await restoreWith(disk, { selector: id });
    expect([tree, result.problems.length]).toEqual([without.tree, without.result.problems.length]);
  });

  test('that cannot be reached is reported, and what is here is restored', async () => {
    const { stage, id } = await brokenStage();
    const disk = await spoil(
      stage,
      ...packsOfKind(stage.backend, 'data').map((file) => flip(stage.backend, file, 200)),
    );
    const fromDomains: ChunkSource = { fetch: async () => Promise.reject(new RefusedError('the agent is gone')) };
    const without = await restoreWith(disk, { selector: id });
    const { result, exitCode, tree, notices } = await restoreWith(disk, { selector: id, fromDomains });
    expect(exitCode).toBe(1);
    expect(tree).toEqual(without.tree);
    expect(result.problems).toEqual(without.result.problems);
    const messages = notices.filter(({ kind }) => kind === 'domain-problem');
    expect(messages.length).toBeGreaterThan(0);
    expect(messages[0]).toMatchObject({ message: expect.stringContaining('the agent is gone') as string });
  });

  test('that never answers does not keep an interrupted restore', async () => {
    const { disk, id } = await brokenStage();
    const controller = new AbortController();
    const fetch = vi.fn(async (): Promise<undefined> => {
      controller.abort(new CancelledError('SIGINT'));
      return await new Promise(() => undefined);
    });
    const { signal } = controller;
    await expect(restoreWith(disk, { selector: id, fromDomains: { fetch } }, { signal })).rejects.toThrow(
      CancelledError,
    );
    expect(fetch).toHaveBeenCalledOnce();
  });
});

test('a repository that can only be read is enough, and nothing is left on this machine', async () => {
  const stage = await makeDamageStage();
  const disk = await spoil(stage, ...filesIn(stage.backend, 'packs').map(missing));
  const refuse = vi.fn(async () => {
    throw backendFailure({ location: disk.location, operation: 'create', name: 'x', errno: 'EROFS' });
  });
  Object.assign(disk, { claim: refuse, create: refuse, stage: refuse, publish: refuse });
  const scratch = memoryDirectory();
  vi.stubEnv('TMPDIR', scratch);
  const id = newestOf(stage);
  await withDomain(stage.backend.copy(), async (domain) => {
    const { exitCode, tree, result } = await restoreWith(disk, { selector: id, fromDomains: domain });
    expect([exitCode, tree]).toEqual([0, stage.trees.get(id)]);
    expect(result.fetched!.chunks).toBeGreaterThan(0);
  }).finally(() => vi.unstubAllEnvs());
  expect(refuse).toHaveBeenCalled();
  expect(readdirSync(scratch)).toEqual([]);
});
