import { truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { createPrng } from '../support/prng.ts';
import { makeProcessScenario } from '../support/process-scenario.ts';
import type { ProcessScenario, SuspendedBackup } from '../support/process-scenario.ts';
import { inSoak } from '../support/soak.ts';

/** Another machine may take the lock of a suspended one for dead after half an hour; here it happens at once. */
function loseLock({ repository }: ProcessScenario, { lockName }: SuspendedBackup): void {
  unlinkSync(join(repository, 'locks', lockName));
}

async function expectUsable(scenario: ProcessScenario): Promise<void> {
  await scenario.expectWhole();
  truncateSync(join(scenario.home, 'work', 'zeros'), 1000);
  await scenario.backup(join(scenario.home, 'work'));
  await scenario.runWellHere('compact', '--max-unused', '0');
  await scenario.expectWhole();
}

/** Puts `work` into the repository, so that the backup that is suspended relies on what is there. */
async function backupOnce(scenario: ProcessScenario): Promise<string> {
  truncateSync(join(scenario.home, 'work', 'zeros'), 10);
  const id = await scenario.backup(join(scenario.home, 'work'));
  truncateSync(join(scenario.home, 'work', 'zeros'), 2 ** 40);
  return id;
}

describe('a backup that lost its lock while it was suspended', () => {
  it('commits nothing, although nobody took anything away', async () => {
    const scenario = await makeProcessScenario();
    const suspended = await scenario.startSuspendedBackup();
    loseLock(scenario, suspended);
    const said = suspended.running.stderrMatching(/lock of this process .* is gone/);
    expect(await suspended.finish()).toBe(1);
    await said;
    expect(scenario.snapshotIds()).toEqual([]);
    await expectUsable(scenario);
  });

  it('commits nothing when packs that it relies on were compacted away meanwhile', async () => {
    const scenario = await makeProcessScenario();
    const id = await backupOnce(scenario);
    const suspended = await scenario.startSuspendedBackup();
    loseLock(scenario, suspended);
    await scenario.runWellHere('delete', id);
    expect(await suspended.finish()).toBe(1);
    expect(scenario.snapshotIds()).toEqual([]);
    await expectUsable(scenario);
  });

  it('looks at the packs too, should a lock of its name be there again', async () => {
    const scenario = await makeProcessScenario();
    const id = await backupOnce(scenario);
    const suspended = await scenario.startSuspendedBackup();
    loseLock(scenario, suspended);
    await scenario.runWellHere('delete', id);
    writeFileSync(join(scenario.repository, 'locks', suspended.lockName), '');
    const said = suspended.running.stderrMatching(/a pack, which the new snapshot needs, is gone/);
    expect(await suspended.finish()).toBe(1);
    await said;
    expect(scenario.snapshotIds()).toEqual([]);
    await expectUsable(scenario);
  });

  it('commits nothing when its own packs, which no segment named yet, were taken for leftovers', async () => {
    const scenario = await makeProcessScenario();
    // A pack is full and written, with what is still on its way behind it, when the endless file comes.
    writeFileSync(join(scenario.home, 'work', 'a'), createPrng(1).bytes(inSoak(80, 44) << 20));
    const suspended = await scenario.startSuspendedBackup();
    loseLock(scenario, suspended);
    const compacted = await scenario.runWellHere('compact');
    expect(compacted.stdout).toMatch(/packs +[1-9]\d* before, 0 after/);
    writeFileSync(join(scenario.repository, 'locks', suspended.lockName), '');
    expect(await suspended.finish()).toBe(1);
    expect(scenario.snapshotIds()).toEqual([]);
    await expectUsable(scenario);
  });
});
