import { describe, expect, test } from 'vitest';
import { createMasterKey } from '../../../../src/core/crypto/master-key.ts';
import { CorruptDataError, WrongPasswordError } from '../../../../src/core/errors.ts';
import { encodeConfig } from '../../../../src/core/format/config.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME, keyName } from '../../../../src/core/format/layout.ts';
import { configSeals } from '../../../../src/core/repository/config-file.ts';
import { unlock } from '../../../../src/core/repository/keys/key-files.ts';
import { readSealedConfig } from '../../../../src/core/repository/sealed-config.ts';
import { chooseSteps, someOfEachKind } from '../../../support/fault-steps.ts';
import { FaultyBackend, SimulatedCrash } from '../../../support/faulty-backend.ts';
import type { MemoryBackend } from '../../../support/memory-backend.ts';
import { PowerCutBackend } from '../../../support/power-cut-backend.ts';
import { REPOSITORY_ID, keyedRepository } from './key-files-support.ts';
import { CONFIG, expectUsable, firstRing, open, repository, rotateIn } from './key-rotation-support.ts';
import { inSoak } from '../../../support/soak.ts';

test('everything new is sealed under the new key, and only its password opens the repository', async () => {
  const backend = repository.backend.copy();
  const before = await open(backend, 'mine');
  for (const epoch of [2, 3]) {
    const rotation = await rotateIn(backend);
    expect(rotation.epoch).toBe(epoch);
    expect(new Set(rotation.removed.map(({ label }) => label))).toEqual(
      new Set(epoch === 2 ? ['anna', 'laptop'] : ['laptop']),
    );
    expect(backend.names().filter((name) => name.startsWith('keys/'))).toEqual([keyName(rotation.keyId)]);
    const { seals, config } = await expectUsable(backend);
    expect(seals.keys?.epoch).toBe(epoch);
    expect(config.encryption?.earlierKeys.map((earlier) => earlier.epoch)).toEqual(epoch === 2 ? [1] : [1, 2]);
    await expect(open(backend, 'hers')).rejects.toThrow(WrongPasswordError);
  }
  expect(backend.peek(CONFIG_NAME)).toEqual(backend.peek(CONFIG_COPY_NAME));
  await expect(before.assertCurrent()).rejects.toThrow('the configuration was changed meanwhile');
});

/** In the suite, the steps have one of three ways to lose what was not synchronized, by turns. */
const CUTS = inSoak(['power cut 0', 'power cut 1', 'power cut 2'], ['power cut of any kind']);

describe.each(['error', 'crash', ...CUTS])('after a %s', (kind) => {
  test('at any step, the same password opens the repository, and another rotation mends it', async () => {
    const epochs = new Set<number>();
    let hasOutdated = false;
    const mode = kind === 'error' ? 'error' : 'crash';
    const whole = new FaultyBackend(repository.backend.copy());
    await rotateIn(whole);
    const { numbers, end } = chooseSteps(whole, mode);
    for (const failAt of someOfEachKind(numbers, whole, mode === 'crash')) {
      const disk = new PowerCutBackend(repository.backend);
      const faulty = new FaultyBackend(disk, { failAt, mode, torn: true });
      const failed = await rotateIn(faulty).then(
        () => undefined,
        (error: unknown) => error,
      );
      // The soak goes on until none is left, and does not know before how many there are.
      if (inSoak(failAt <= end, true)) expect(faulty.fired, `step ${failAt}`).toBe(failAt <= end);
      // One of the two copies may be unreadable for a moment.
      if (failed !== undefined) expect(faulty.fired).toBe(true);
      if (kind !== 'error' && faulty.fired) expect(failed).toBeInstanceOf(SimulatedCrash);
      const found = kind.startsWith('power cut') ? disk.cut(inSoak(Number(kind.at(-1)), failAt % 3)) : disk;
      const copies = [CONFIG_NAME, CONFIG_COPY_NAME].map((name) => found.peek(name)!.toString('hex'));
      hasOutdated ||= copies[0] !== copies[1];
      epochs.add((await expectUsable(found)).seals.keys!.epoch);
      // What is written meanwhile may have to be opened by whoever comes after a power cut that takes names back.
      const sealed = (await open(found, 'mine')).seals.seal('blocks', Buffer.from('block'));
      for (const seed of [0, 1]) {
        const cut = disk.cut(seed);
        if (faulty.fired) expect((await open(cut, 'mine')).seals.open('blocks', sealed).toString()).toBe('block');
      }
      const last = await expectUsable(found, async () => rotateIn(found));
      expect(last.seals.keys!.epoch).toBeGreaterThan(1);
      expect(found.peek(CONFIG_NAME)).toEqual(found.peek(CONFIG_COPY_NAME));
      expect(found.names().filter((name) => name.startsWith('keys/'))).toHaveLength(1);
      if (!faulty.fired) break;
    }
    expect(epochs).toEqual(new Set([1, 2]));
    expect(hasOutdated).toBe(true);
  });
});

/** A rotation that crashes when it is about to do this. */
async function interrupted(at: RegExp): Promise<MemoryBackend> {
  const backend = repository.backend.copy();
  const faulty = new FaultyBackend(backend, {
    failAt: 1,
    mode: 'crash',
    only: (kind, name) => at.test(`${kind} ${name}`),
  });
  await expect(rotateIn(faulty)).rejects.toThrow(SimulatedCrash);
  return backend;
}

describe('a rotation that was interrupted', () => {
  test('before the configuration is replaced: both passwords open it, and nothing is sealed under the new key', async () => {
    const backend = await interrupted(/^rename .* config.bak$/);
    for (const password of ['mine', 'hers']) expect((await open(backend, password)).seals.keys!.epoch).toBe(1);
  });

  test('leaves a key that opens nothing once its password is changed', async () => {
    const backend = await interrupted(/^rename .* config.bak$/);
    const { opened } = await unlock(backend, REPOSITORY_ID, Buffer.from('mine'), {
      config: await readSealedConfig(backend),
    });
    await backend.remove(keyName(opened[0]!.id));
    const failed = unlock(backend, REPOSITORY_ID, Buffer.from('mine'), { config: await readSealedConfig(backend) });
    await expect(failed).rejects.toThrow(WrongPasswordError);
    await expect(failed).rejects.toThrow(/was interrupted \(epoch 2, now 1\)/);
  });

  test('between the two copies: the newer one counts, and other passwords are refused', async () => {
    const backend = await interrupted(/^rename .* config$/);
    expect((await open(backend, 'mine')).config.encryption?.earlierKeys).toHaveLength(1);
    await expect(open(backend, 'hers')).rejects.toThrow(
      /from before the last rotation of the master key \(epoch 1, now 2\)/,
    );
    backend.poke(CONFIG_COPY_NAME, Buffer.from('damaged'));
    expect((await open(backend, 'mine')).seals.keys!.epoch).toBe(1);
  });

  test('before old keys are removed: they open nothing', async () => {
    const backend = await interrupted(/^remove keys/);
    await expect(open(backend, 'hers')).rejects.toThrow(WrongPasswordError);
    expect((await open(backend, 'mine')).seals.keys!.epoch).toBe(2);
    await expect(rotateIn(backend, 'hers')).rejects.toThrow(WrongPasswordError);
  });
});

describe('two copies of different epochs', () => {
  test.each([
    ['another key of the chunk ids', { idKey: 'ef'.repeat(32) }],
    ['another chunker key', { encryption: { chunkerKey: 'ef'.repeat(32), earlierKeys: [] } }],
  ])('are refused with %s', async (_, change) => {
    const backend = await interrupted(/^rename .* config$/);
    backend.poke(CONFIG_NAME, encodeConfig({ ...CONFIG, ...change }, configSeals(firstRing)));
    await expect(open(backend, 'mine')).rejects.toThrow(CorruptDataError);
    await expect(open(backend, 'mine')).rejects.toThrow('both valid, but differ');
  });
});

describe('a rotation is refused and changes nothing', () => {
  test('while a copy of the configuration is damaged', async () => {
    const backend = repository.backend.copy();
    backend.poke(CONFIG_COPY_NAME, Buffer.from('damaged'));
    const before = backend.names();
    await expect(rotateIn(backend)).rejects.toThrow(/^the master key was not rotated: config.bak/);
    expect(backend.names()).toEqual(before);
  });

  test('after epoch 65535', async () => {
    const backend = keyedRepository(repository.backend.copy());
    await backend.add('mine', { masterKey: createMasterKey(65_535) });
    const before = backend.backend.names();
    await expect(rotateIn(backend.backend)).rejects.toThrow('there can be no master key after epoch 65535');
    expect(backend.backend.names()).toEqual(before);
  });
});

test('the epoch of a key file that another rotation left is not used again', async () => {
  const { backend, add } = keyedRepository(repository.backend.copy());
  await add('mine', { masterKey: createMasterKey(2) });
  expect((await rotateIn(backend)).epoch).toBe(3);
  await add('mine', { masterKey: createMasterKey(3) });
  // A process that was suspended may write its key late: of two keys of an epoch, the right one is found.
  await expectUsable(backend);
});

test('the epoch of a key file that a rotation with another password has left is not used either', async () => {
  const backend = await interrupted(/^rename .* config.bak$/);
  // The password of that rotation is no longer valid, as after `key passwd`, and its key file of the old epoch is gone.
  const { opened } = await unlock(backend, REPOSITORY_ID, Buffer.from('mine'), {
    config: await readSealedConfig(backend),
  });
  await backend.remove(keyName(opened[0]!.id));
  const left = backend.names().filter((name) => name.startsWith('keys/'));
  const contents = new Map(left.map((name) => [name, backend.peek(name)!]));
  expect((await rotateIn(backend, 'hers')).epoch).toBe(3);
  // They are still there if that rotation dies before it removes them.
  for (const [name, content] of contents) backend.poke(name, content);
  await expect(open(backend, 'mine')).rejects.toThrow(WrongPasswordError);
  expect((await open(backend, 'hers')).seals.keys!.epoch).toBe(3);
});

test.each([
  [2, [3, 4]],
  [3, [2, 4]],
  [65_534, [2, 3]],
  [65_535, [2, 3]],
])('a key file that claims epoch %d and opens with another password uses up at most one', async (epoch, expected) => {
  const { backend, add } = keyedRepository(repository.backend.copy());
  for (const each of expected) {
    await add('forged', { masterKey: createMasterKey(epoch) });
    expect((await rotateIn(backend)).epoch).toBe(each);
    await expectUsable(backend);
  }
});

test('many forged key files use up few epochs, and the last epoch can be used', async () => {
  const { backend, add } = keyedRepository(repository.backend.copy());
  for (let epoch = 2; epoch < 19; epoch += 1) await add('forged', { masterKey: createMasterKey(epoch) });
  expect((await rotateIn(backend)).epoch).toBe(2);
  await add('mine', { masterKey: createMasterKey(65_534) });
  await add('forged', { masterKey: createMasterKey(65_535) });
  expect((await rotateIn(backend)).epoch).toBe(65_535);
  await expectUsable(backend);
});

test('a config.bak that is replaced late, under another master key of the same epoch, counts for nothing', async () => {
  const backend = await interrupted(/^rename .* config$/);
  const late = backend.peek(CONFIG_COPY_NAME)!;
  const lateKeys = backend
    .names()
    .filter((name) => name.startsWith('keys/') && !repository.backend.names().includes(name));
  // The key file of the suspended rotation comes late, too: otherwise its epoch would not be used again.
  const other = repository.backend.copy();
  expect((await rotateIn(other, 'hers')).epoch).toBe(2);
  other.poke(CONFIG_COPY_NAME, late);
  for (const name of lateKeys) other.poke(name, backend.peek(name)!);
  await expect(open(other, 'mine')).rejects.toThrow('that key does not open the configuration');
  expect((await open(other, 'hers')).seals.keys!.epoch).toBe(2);
});
