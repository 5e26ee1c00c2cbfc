import { expect, test } from 'vitest';

import type { BackendFile } from '../../src/core/backend/backend.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { check } from '../../src/verbs/check/check.ts';
import { checkStorage } from '../../src/verbs/check/check-storage.ts';
import { checkAll, filesIn, setDamageStage } from '../support/damage.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import type { MemoryBackend } from '../support/memory-backend.ts';
import { createPrng } from '../support/prng.ts';
import type { Prng } from '../support/prng.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

/** A place on another machine, of whose listings some have a wrong digit in one of the names. */
class WrongDigits extends FaultyBackend {
  wrongCount = 0;
  readonly #prng: Prng;
  readonly #percent: number;

  constructor(inner: MemoryBackend, prng: Prng, percent: number) {
    super(inner);
    this.#prng = prng;
    this.#percent = percent;
  }

  override async list(directory: string): Promise<BackendFile[]> {
    const files = await super.list(directory);
    if (directory === 'locks' || files.length === 0 || this.#prng.int(100) >= this.#percent) return files;
    this.wrongCount += 1;
    const wrong = this.#prng.int(files.length);
    return files.map((file, index) => (index === wrong ? { ...file, name: this.#spoiled(file.name) } : file));
  }

  #spoiled(name: string): string {
    const at = name.length - 1 - this.#prng.int(8);
    const digit = '0123456789'.replace(name[at]!, '')[this.#prng.int(9)]!;
    return name.slice(0, at) + digit + name.slice(at + 1);
  }
}

test('repair concludes nothing from a wrong listing (seed 6)', async () => {
  const stage = await setDamageStage(memoryDirectory());
  const prng = createPrng(6);
  const outcomes = new Set<string>();
  for (const percent of [10, 10, 30, 30, 100]) {
    const disk = stage.backend.copy();
    const wrong = new WrongDigits(disk, prng, percent);
    const repairing = repair(simulatedProcess(wrong)).then(
      ({ actions, remaining }) => JSON.stringify([...actions, ...remaining]),
      (error: { code: string }) => error.code,
    );
    outcomes.add(await repairing);
    expect(wrong.wrongCount).toBeGreaterThan(0);
    expect(filesIn(disk, 'quarantine')).toEqual([]);
    expect((await checkAll(disk)).findings).toEqual([]);
  }
  expect([...outcomes].sort()).toEqual(['UNRELIABLE_READ', '[]']);
});

/** Another bit of the size is wrong each time somebody asks for that of a checkpoint. */
class WrongSizes extends FaultyBackend {
  #bit = 0;

  override async sizeOf(name: string): Promise<number | undefined> {
    const sizeBytes = await super.sizeOf(name);
    if (sizeBytes === undefined || !name.startsWith('filter/')) return sizeBytes;
    this.#bit += 1;
    return sizeBytes ^ (1 << (this.#bit % 5));
  }
}

test('wrong sizes of a checkpoint are no damage', async () => {
  const { backend: disk } = await setDamageStage(memoryDirectory());
  const sizes = (): WrongSizes => new WrongSizes(disk);
  await expect(check(simulatedProcess(sizes()))).rejects.toMatchObject({ code: 'UNRELIABLE_READ' });
  await expect(repair(simulatedProcess(sizes()))).rejects.toMatchObject({ code: 'UNRELIABLE_READ' });
  expect(filesIn(disk, 'quarantine')).toEqual([]);
});

test('wrong sizes in a listing are no damage, also for a check without a key', async () => {
  const { backend: disk } = await setDamageStage(memoryDirectory());
  class WrongListedSizes extends FaultyBackend {
    override async list(directory: string): Promise<BackendFile[]> {
      const files = await super.list(directory);
      return files.map((file) => ({ ...file, sizeBytes: file.sizeBytes - 1 }));
    }
  }
  expect((await checkStorage(simulatedProcess(new WrongListedSizes(disk)))).findings).toEqual([]);
});
