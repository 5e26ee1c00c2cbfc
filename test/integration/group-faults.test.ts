import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

import type { Backend } from '../../src/core/backend/backend.ts';
import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { LdmError } from '../../src/core/errors.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { check } from '../../src/verbs/check/check.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { listSnapshots } from '../../src/verbs/snapshots/snapshots.ts';
import { makeStage, runWith } from '../support/faulty-group.ts';
import type { Stage } from '../support/faulty-group.ts';
import { createPrng } from '../support/prng.ts';
import { keepDirectory } from '../support/kept-directory.ts';
import { inSoak } from '../support/soak.ts';

/** How many of the operations fail, one in each run. */
const STEPS_MAX = inSoak(200, 3);

const ACTS: Readonly<Record<string, (stage: Stage) => (context: OperationContext) => Promise<unknown>>> = {
  backup:
    ({ source }) =>
    async (context) =>
      backup(context, { sources: [source], cwd: source }),
  'delete and compaction': () => async (context) => {
    await deleteSnapshots(context, { selectors: ['latest'] });
    await compact(context, { maxUnusedPercent: 0 });
  },
};

describe.each(Object.keys(ACTS))('a %s', (name) => {
  it.each(['vanish', 'full'] as const)('loses nothing if a group fails at any operation (%s)', async (kind) => {
    const stage = await makeStage();
    const reset = keepDirectory(dirname(stage.source));
    const { count } = await runWith(stage, undefined, ACTS[name]!(stage));
    let firedCount = 0;
    for (let at = 1; at <= count; at += Math.ceil(count / STEPS_MAX)) {
      reset();
      const before = (await listSnapshots(stage.context)).map(({ id }) => id);
      const { error, hasFired } = await runWith(stage, { at, kind }, ACTS[name]!(stage));
      firedCount += hasFired ? 1 : 0;
      if (error !== undefined) expect(error).toBeInstanceOf(LdmError);
      const after = (await listSnapshots(stage.context)).map(({ id }) => id);
      // What was reported as saved is there, and everything that is there is whole.
      if (name === 'backup') expect(after.length - before.length).toBe(error === undefined ? 1 : 0);
      const { findings } = await check(stage.context, { readData: true });
      expect(findings, `${kind} at ${at}`).toEqual([]);
      await compact(stage.context);
      expect((await check(stage.context, { readData: true })).findings, `${kind} at ${at}`).toEqual([]);
    }
    if (kind === 'vanish' || name === 'backup') expect(firedCount).toBeGreaterThan(0);
  });
});

it('a backup makes the packs of every group durable before the segment', async () => {
  const stage = await makeStage();
  // So many packs that each group certainly gets some: which one takes a pack is decided by a random id.
  writeFileSync(join(stage.source, 'three'), createPrng(3).bytes(600_000));
  const { backend } = stage.context;
  const logged = new Proxy(backend, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return async (...given: unknown[]): Promise<unknown> => {
        if (property === 'publish') stage.log.push(`publish ${String(given[0]).split('/')[0]}`);
        return (await Reflect.apply(value, target, given)) as unknown;
      };
    },
  });
  await runWith({ ...stage, context: { ...stage.context, backend: logged } }, undefined, ACTS['backup']!(stage));
  // Packs are written while an earlier segment is published: the last one is in the last segment.
  const segment = stage.log.lastIndexOf('publish index');
  for (const group of ['a', 'b']) {
    const lastStage = stage.log.lastIndexOf(`${group} stage`);
    expect(lastStage).toBeGreaterThan(0);
    expect(segment).toBeGreaterThan(lastStage);
    expect(stage.log.slice(lastStage, segment)).toContain(`${group} barrier`);
  }
});

it('a backup writes packs to both groups at the same time', async () => {
  const { context, source } = await makeStage();
  writeFileSync(join(source, 'three'), createPrng(3).bytes(600_000));
  // Four packs at a time wait for each other. One after the other, the first would wait for ever.
  let batch = makeBatch();
  const groupCounts: number[] = [];
  const openPlace = async (place: string): Promise<Backend> =>
    new Proxy<Backend>(new LocalBackend(place), {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        return async (...given: unknown[]): Promise<unknown> => {
          if (property === 'stage') {
            const own = batch;
            own.places.push(place);
            if (own.places.length === 4) {
              groupCounts.push(new Set(own.places).size);
              batch = makeBatch();
              own.release();
            }
            // The last batch is smaller.
            if (groupCounts.length < 5) await own.released;
          }
          return (await Reflect.apply(value, target, given)) as unknown;
        };
      },
    });
  await backup({ ...context, openPlace }, { sources: [source], cwd: source });
  // Which group gets a pack is random.
  expect(groupCounts).toContain(2);
  expect((await check(context, { readData: true })).findings).toEqual([]);
});

/** Packs that wait for each other. */
function makeBatch(): { readonly places: string[]; readonly released: Promise<void>; readonly release: () => void } {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { places: [], released, release };
}
