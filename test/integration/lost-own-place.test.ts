import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { RefusedError } from '../../src/core/errors.ts';
import { check } from '../../src/verbs/check/check.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { recoverFromGroups } from '../../src/verbs/group/group-recover.ts';
import { initRepository, repositoryExists } from '../../src/core/creating/init.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { listSnapshots } from '../../src/verbs/snapshots/snapshots.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { keepDirectory } from '../support/kept-directory.ts';
import { KilledError, KilledPlaces } from '../support/killed-places.ts';
import { createPrng } from '../support/prng.ts';
import { inSoak } from '../support/soak.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { threadsOfTests } from '../support/test-threads.ts';
import { backUp, deleteOne, makeStage, loseOwn } from '../support/lost-places.ts';
import type { Stage } from '../support/lost-places.ts';

describe('a repository whose own place is lost', () => {
  it('is made again right after init', async () => {
    const directory = memoryDirectory();
    const context = { backend: new LocalBackend(join(directory, 'own')), threads: threadsOfTests() };
    const groups = ['a', 'b'].map((name) => ({ name, place: join(directory, name) }));
    await initRepository(context, { groups, copies: 2, encryption: 'never' });
    const fresh = await loseOwn({ directory, context }, 'b');
    expect((await check(fresh)).findings).toEqual([]);
  });

  it('is made again by the same command if that was killed', async () => {
    const stage = await makeStage({ run: backUp });
    // So that there is `index/commits`, one of the files that a recovery writes last.
    await deleteOne(stage.context, true);
    const reset = keepDirectory(stage.directory);
    const own = join(stage.directory, 'own');
    const recover = async (places: KilledPlaces): Promise<unknown> =>
      recoverFromGroups({ ...stage.context, backend: places.wrap(new LocalBackend(own)) }, [
        join(stage.directory, 'a'),
      ]);
    rmSync(own, { recursive: true });
    const whole = new KilledPlaces();
    await recover(whole);
    const step = Math.ceil(whole.count / inSoak(1000, 5));
    for (let at = 1; at <= whole.count; at += step) {
      reset();
      rmSync(own, { recursive: true });
      await expect(recover(new KilledPlaces(at))).rejects.toThrow(KilledError);
      rmSync(join(own, 'locks'), { recursive: true, force: true });
      const context = { ...stage.context, backend: new LocalBackend(own) };
      // With a copy of the configuration, all else is there, and a repair completes it.
      if (await repositoryExists(context.backend)) await repair(context);
      else await recover(new KilledPlaces());
      expect((await check(context)).findings).toEqual([]);
    }
  });

  it('is made of the newest copies: those of a group that was away are not used', async () => {
    const stage = await makeStage({ run: backUp });
    const { directory, context } = stage;
    const reset = keepDirectory(join(directory, 'a'));
    await deleteOne(context, true);
    const ids = (await listSnapshots(context)).map(({ id }) => id);
    reset();
    const fresh = await loseOwn(stage, 'a');
    expect((await listSnapshots(fresh)).map(({ id }) => id)).toEqual(ids);
  });

  it('is not made if a group with newer copies may be missing, unless that is accepted', async () => {
    const stage = await makeStage({ run: backUp });
    const { directory, context } = stage;
    rmSync(join(directory, 'own'), { recursive: true });
    rmSync(join(directory, 'b'), { recursive: true });
    const fresh = { ...context, backend: new LocalBackend(join(directory, 'own')) };
    const places = [join(directory, 'a')];
    await expect(recoverFromGroups(fresh, places)).rejects.toThrow(RefusedError);
    expect(existsSync(join(directory, 'own'))).toBe(false);
    const recovered = await recoverFromGroups(fresh, places, { allowMissing: true });
    expect(recovered).toMatchObject({ snapshotCount: 2, missing: ['b'], from: ['a'] });
    for (const { id } of await listSnapshots(fresh))
      expect((await restore(fresh, { selector: id, target: join(directory, id) })).problems).toEqual([]);
  });

  it('is not made where something is', async () => {
    const stage = await makeStage({ run: backUp });
    const places = [join(stage.directory, 'a')];
    await expect(recoverFromGroups(stage.context, places)).rejects.toThrow('is already a repository');
    const backend = new LocalBackend(join(stage.directory, 'source'));
    await expect(recoverFromGroups({ ...stage.context, backend }, places)).rejects.toThrow('is not empty');
  });
});

describe('a place that is not lost after all', () => {
  /** The repository is made again at another place, while the first one still exists. */
  async function makeAgain(
    { directory, context }: Stage,
    name: string,
    allowMissing = false,
  ): Promise<OperationContext> {
    const fresh = { ...context, backend: new LocalBackend(join(directory, name)) };
    await recoverFromGroups(fresh, [join(directory, 'a')], { allowMissing });
    return fresh;
  }

  async function backUpMore(context: OperationContext, stage: Stage, number: number): Promise<unknown> {
    writeFileSync(join(stage.directory, 'source', 'more'), createPrng(number).bytes(50_000));
    return await backUp(context, stage);
  }

  it('removes nothing of the one that is used now, and neither does a third one', async () => {
    const stage = await makeStage({ run: backUp });
    const fresh = await makeAgain(stage, 'new');
    const third = await makeAgain(stage, 'third');
    await backUpMore(fresh, stage, 7);
    for (const context of [stage.context, third]) {
      await expect(backUpMore(context, stage, 8)).rejects.toThrow('must not be used any more');
      await expect(deleteOne(context, true)).rejects.toThrow(/made again from its groups at .*new,/);
      await expect(compact(context, { maxUnusedPercent: 0 })).rejects.toThrow(RefusedError);
    }
    expect((await check(fresh, { readData: true })).findings).toEqual([]);
    expect(await listSnapshots(fresh)).toHaveLength(3);
  });

  it('keeps what it has, if it goes on first', async () => {
    const stage = await makeStage({ run: backUp });
    const fresh = await makeAgain(stage, 'new');
    await backUpMore(stage.context, stage, 7);
    await expect(compact(fresh)).rejects.toThrow('was changed at the place where it was before');
    expect((await check(stage.context, { readData: true })).findings).toEqual([]);
    const again = await makeAgain(stage, 'again');
    await backUpMore(again, stage, 9);
    expect(await listSnapshots(again)).toHaveLength(4);
  });

  it('has no newer copies than the one that is used now, even with a group for itself', async () => {
    const stage = await makeStage({ run: backUp });
    const { directory, context } = stage;
    const fresh = await makeAgain(stage, 'new');
    const turns = [
      { away: 'b', one: fresh },
      { away: 'a', one: context },
    ];
    for (const [number, { away, one }] of turns.entries()) {
      renameSync(join(directory, away), join(directory, 'away'));
      await backUpMore(one, stage, 7 + number);
      renameSync(join(directory, 'away'), join(directory, away));
    }
    const ids = (await listSnapshots(fresh)).map(({ id }) => id);
    rmSync(join(directory, 'own'), { recursive: true });
    rmSync(join(directory, 'new'), { recursive: true });
    await expect(makeAgain(stage, 'again')).rejects.toThrow('the newest copies cannot be used: those in the group b');
    const again = await makeAgain(stage, 'again', true);
    expect((await listSnapshots(again)).map(({ id }) => id)).toEqual(ids);
    await backUpMore(again, stage, 9);
    expect((await check(again, { readData: true })).findings.filter(({ kind }) => kind !== 'copies-missing')).toEqual(
      [],
    );
  });

  it('is told apart even if the file that says so is damaged', async () => {
    const stage = await makeStage({ run: backUp });
    const fresh = await makeAgain(stage, 'new');
    await backUpMore(fresh, stage, 7);
    writeFileSync(join(stage.directory, 'new', 'recoveries'), 'damaged');
    await backUpMore(fresh, stage, 8);
    await expect(backUpMore(stage.context, stage, 9)).rejects.toThrow('must not be used any more');
    rmSync(join(stage.directory, 'new', 'recoveries'));
    await expect(backUpMore(fresh, stage, 9)).rejects.toThrow('must not be used any more');
  });
});
