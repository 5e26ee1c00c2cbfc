import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import type { FileWriter } from '../../../src/core/backend/publication.ts';
import { RefusedError } from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { filesIn, packsOfKind } from '../../support/damage.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

type Damage = 'gone' | 'truncated';

/** Packs that are there until the manifest is written, and gone or shorter when the backup looks once more. */
class VanishingBackend extends FaultyBackend {
  damaged: readonly string[] = [];
  damage: Damage = 'gone';
  askedCount = 0;
  #isWriting = false;

  override async create(name: string): Promise<FileWriter> {
    if (name.startsWith('tmp/')) this.#isWriting = true;
    return super.create(name);
  }

  override async sizeOf(name: string): Promise<number | undefined> {
    const sizeBytes = await super.sizeOf(name);
    if (!this.#isWriting || !this.damaged.includes(name)) return sizeBytes;
    this.askedCount += 1;
    return this.damage === 'gone' ? undefined : sizeBytes! - 1;
  }

  vanish(packs: readonly string[], damage: Damage): void {
    this.damaged = packs;
    this.damage = damage;
    this.#isWriting = false;
  }
}

test.each([
  ['data', 'gone'],
  ['tree', 'gone'],
  ['data', 'truncated'],
  ['tree', 'truncated'],
] as const)('a backup of unchanged files commits nothing when a %s pack is suddenly %s', async (kind, damage) => {
  const source = memoryDirectory();
  writeFileSync(join(source, 'file'), 'content');
  const disk = new MemoryBackend();
  const backend = new VanishingBackend(disk);
  await initRepository({ backend });
  const options = { sources: [source], cwd: '/' };
  await backup({ backend }, options);
  await backup({ backend }, options);
  const before = filesIn(disk, 'snapshots');
  backend.vanish(packsOfKind(disk, kind), damage);
  expect(backend.damaged).toHaveLength(1);
  await expect(backup({ backend }, options)).rejects.toThrow(RefusedError);
  expect(backend.askedCount).toBe(1);
  expect(filesIn(disk, 'snapshots')).toEqual(before);
});

/** Takes every lock away as soon as a pack has its name, as a process does that takes this one for dead. */
class LockTaker extends MemoryBackend {
  override async rename(source: string, target: string): Promise<void> {
    await super.rename(source, target);
    if (!target.startsWith('packs/')) return;
    for (const lock of filesIn(this, 'locks')) await super.release(lock);
  }
}

test('a backup that has lost its lock indexes none of its packs, though they are all there', async () => {
  const source = memoryDirectory();
  writeFileSync(join(source, 'file'), 'content');
  const backend = new LockTaker();
  await initRepository({ backend });
  await expect(backup({ backend }, { sources: [source], cwd: '/' })).rejects.toThrow(RefusedError);
  expect(filesIn(backend, 'packs').length).toBeGreaterThan(0);
  expect([...filesIn(backend, 'index'), ...filesIn(backend, 'snapshots')]).toEqual([]);
});
