import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { RefusedError } from '../../../src/core/errors.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { loseGroup } from '../../../src/verbs/group/group-lost.ts';
import { drainGroup } from '../../../src/core/copies/group-moves.ts';
import { listGroups } from '../../../src/verbs/group/groups.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { fill, makeGrouped } from '../../support/grouped-repository.ts';
import type { GroupedRepository } from '../../support/grouped-repository.ts';

async function makeFilled(): Promise<GroupedRepository> {
  const repository = await makeGrouped();
  for (let number = 0; number < 60; number += 1) fill(repository, `file-${number}`, number, 3000);
  await repository.backup();
  fill(repository, 'file-new', 100, 50_000);
  await repository.backup();
  return repository;
}

describe('a group that is lost', () => {
  it('is named with exactly the files that a restore cannot restore', async () => {
    const repository = await makeFilled();
    repository.unmount('b');
    const { problems } = await repository.restore();
    const loss = await loseGroup(repository.context, 'b');
    expect(loss).toMatchObject({ snapshotsAffected: 2, snapshots: 2, isRemoved: false });
    expect(loss.packsLost).toBeGreaterThan(0);
    const newest = (await listSnapshots(repository.context)).at(-1)!.id;
    const lost = loss.paths.filter(({ snapshot }) => snapshot === newest).map(({ path }) => path);
    expect(lost.length).toBeGreaterThan(0);
    expect(lost.length).toBeLessThan(61);
    expect(problems.length).toBe(lost.length);
    for (const path of lost) expect(JSON.stringify(problems)).toContain(path);
    expect((await listGroups(repository.context)).groups.length).toBe(2);
    repository.mount('b');
    await repository.expectClean();
    await repository.expectRestored();
  });

  it('leaves a repository that goes on without it', async () => {
    const repository = await makeFilled();
    repository.unmount('b');
    expect((await loseGroup(repository.context, 'b', { confirmed: true })).isRemoved).toBe(true);
    expect((await listGroups(repository.context)).groups.map(({ name }) => name)).toEqual(['a']);
    const { findings } = await check(repository.context);
    expect(findings.map(({ kind }) => kind)).toContain('pack-missing');
    await repair(repository.context);
    await repository.backup({ force: true });
    await compact(repository.context);
    await repository.expectRestored();
    expect((await check(repository.context, { selectors: ['latest'], readData: true })).findings).toEqual([]);
  });

  it('costs nothing once it was drained', async () => {
    const repository = await makeFilled();
    await drainGroup(repository.context, 'b');
    rmSync(repository.place('b'), { recursive: true });
    const loss = await loseGroup(repository.context, 'b', { confirmed: true });
    expect(loss).toMatchObject({ packsLost: 0, paths: [], snapshotsAffected: 0 });
    await repository.expectClean();
    await repository.expectRestored();
  });

  it('cannot be one that is online, nor be judged while another one is offline', async () => {
    const repository = await makeFilled();
    await expect(loseGroup(repository.context, 'a')).rejects.toThrow(/can be reached/);
    repository.unmount('a');
    repository.unmount('b');
    await expect(loseGroup(repository.context, 'a', { confirmed: true })).rejects.toThrow(RefusedError);
    repository.mount('b');
    repository.mount('a');
    expect((await listGroups(repository.context)).groups.length).toBe(2);
    await repository.expectClean();
  });
});
