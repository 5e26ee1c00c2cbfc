import { expect, test } from 'vitest';

import type { BackendFile } from '../../src/core/backend/backend.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { check } from '../../src/verbs/check/check.ts';
import { checkStorage } from '../../src/verbs/check/check-storage.ts';
import { backendFailure } from '../../src/core/backend/backend-failure.ts';
import { listKeys } from '../../src/core/repository/keys/key-files.ts';
import { checkAll, filesIn, setDamageStage } from '../support/damage.ts';
import { setEncryptedStage } from '../support/encrypted-stage.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import type { MemoryBackend } from '../support/memory-backend.ts';
import { createPrng } from '../support/prng.ts';
import type { Prng } from '../support/prng.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { inSoak } from '../support/soak.ts';
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

class WrongListedSizes extends FaultyBackend {
  readonly #bytes: number;

  constructor(inner: MemoryBackend, bytes: number) {
    super(inner);
    this.#bytes = bytes;
  }

  override async list(directory: string): Promise<BackendFile[]> {
    const files = await super.list(directory);
    return files.map((file) => ({ ...file, sizeBytes: file.sizeBytes + this.#bytes }));
  }
}

/** One listing of a directory lacks a name, has it with another size, or with another last digit. */
class OneWrongListing extends FaultyBackend {
  isWrong = false;
  readonly #wrong: Wrong;
  #count = 0;

  constructor(inner: MemoryBackend, wrong: Wrong) {
    super(inner);
    this.#wrong = wrong;
  }

  override async list(directory: string): Promise<BackendFile[]> {
    const files = await super.list(directory);
    const { directory: ofDirectory, at, nth, kind } = this.#wrong;
    if (directory !== ofDirectory || (this.#count += 1) !== nth) return files;
    this.isWrong = true;
    if (kind === 'lacks') return files.toSpliced(at, 1);
    const { name, sizeBytes } = files[at]!;
    const digit = name.endsWith('0') ? '1' : '0';
    const spoiled =
      kind === 'short' ? { name, sizeBytes: sizeBytes - 1 } : { name: name.slice(0, -1) + digit, sizeBytes };
    return files.with(at, spoiled);
  }
}

interface Wrong {
  readonly directory: string;
  readonly at: number;
  /** Which listing of the directory is wrong; the first is 1. */
  readonly nth: number;
  readonly kind: 'lacks' | 'short' | 'digit';
}

test('check concludes nothing from one wrong listing (seed 7)', async () => {
  const { backend: disk } = await setDamageStage(memoryDirectory());
  const prng = createPrng(7);
  const kinds = ['lacks', 'short', 'digit'] as const;
  let wrongCount = 0;
  for (const directory of ['packs', 'index', 'snapshots', 'deleted', 'filter', 'manifests.bak']) {
    for (let round = 0; round < inSoak(60, 6); round += 1) {
      const at = prng.int(filesIn(disk, directory).length);
      const wrong = { directory, at, nth: 1 + prng.int(2), kind: kinds[round % 3]! };
      const place = new OneWrongListing(disk.copy(), wrong);
      const outcome = await check(simulatedProcess(place)).then(
        ({ findings }) => findings,
        (error: { code: string }) => error.code,
      );
      // A segment of a wrong name cannot be read, which says so and concludes nothing.
      const isHonest = outcome === 'BACKEND' && wrong.kind === 'digit' && directory === 'index';
      if (!isHonest) expect(outcome, JSON.stringify(wrong)).toEqual([]);
      if (place.isWrong) wrongCount += 1;
    }
  }
  expect(wrongCount).toBeGreaterThan(20);
});

test('wrong sizes in a listing are no damage, also for a check without a key', async () => {
  const { backend: disk } = await setDamageStage(memoryDirectory());
  expect((await checkStorage(simulatedProcess(new WrongListedSizes(disk, -1)))).findings).toEqual([]);
});

test('wrong sizes in a listing make no key unusable', async () => {
  const { backend: disk, opened } = await setEncryptedStage(memoryDirectory());
  const listed = await listKeys(new WrongListedSizes(disk, 1 << 20), opened.config.repository_id);
  expect(listed.unusable).toEqual([]);
});

/** Says once of each file of a kind that it does not exist, when it is read or when its size is asked for. */
class FalselyAbsent extends FaultyBackend {
  readonly #kind: string;
  readonly #step: 'read' | 'size';
  readonly #denied = new Set<string>();

  constructor(inner: MemoryBackend, kind: string, step: 'read' | 'size') {
    super(inner);
    this.#kind = kind;
    this.#step = step;
  }

  get wrongCount(): number {
    return this.#denied.size;
  }

  override async read(name: string): Promise<Buffer> {
    this.#deny('read', name);
    return await super.read(name);
  }

  override async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    this.#deny('read', name);
    await super.readRange(name, offset, target);
  }

  override async sizeOf(name: string): Promise<number | undefined> {
    return this.#isFalse('size', name) ? undefined : await super.sizeOf(name);
  }

  #deny(step: 'read' | 'size', name: string): void {
    if (!this.#isFalse(step, name)) return;
    throw backendFailure({ location: this.location, operation: 'read', name, errno: 'ENOENT' });
  }

  #isFalse(step: 'read' | 'size', name: string): boolean {
    if (step !== this.#step || !name.startsWith(this.#kind) || this.#denied.has(name)) return false;
    this.#denied.add(name);
    return true;
  }
}

test.each([
  ['config', 'read'],
  ['index/', 'read'],
  ['snapshots/', 'read'],
  ['packs/', 'read'],
  ['packs/', 'size'],
] as const)('one answer that each %s does not exist (%s) makes repair do nothing', async (kind, step) => {
  const { backend: disk } = await setDamageStage(memoryDirectory());
  const absent = new FalselyAbsent(disk, kind, step);
  expect(await repair(simulatedProcess(absent))).toMatchObject({ actions: [], remaining: [] });
  expect(absent.wrongCount).toBeGreaterThan(0);
  expect(filesIn(disk, 'quarantine')).toEqual([]);
});
