import { expect, test } from 'vitest';
import { CONFIG_COPY_NAME, CONFIG_NAME } from '../../../src/core/format/layout.ts';
import { FaultyBackend, SimulatedCrash } from '../../support/faulty-backend.ts';
import { expectUsable, held, lost, open, repository, rotateIn } from './keys/key-rotation-support.ts';

// A rotation whose process has lost its lock.

test('a lock that is lost at any moment stops it, and what others did meanwhile stays valid', async () => {
  for (let count = 0; ; count += 1) {
    const backend = repository.backend.copy();
    let left = count;
    const failed = await rotateIn(backend, 'mine', async () => (left-- > 0 ? held() : lost())).then(
      () => false,
      () => true,
    );
    if (failed) expect(backend.names().filter((name) => name.startsWith('keys/')).length).toBeGreaterThan(1);
    await expectUsable(backend, async () => rotateIn(backend));
    if (!failed) return expect(count).toBeGreaterThan(4);
  }
});

test('a process that was suspended before it replaced config.bak puts it back', async () => {
  const backend = repository.backend.copy();
  const rename = backend.rename.bind(backend);
  let isTaken = false;
  backend.rename = async (source, target) => {
    // Another process takes the lock over right before the rename.
    isTaken ||= target === CONFIG_COPY_NAME;
    await rename(source, target);
  };
  await expect(rotateIn(backend, 'mine', async () => (isTaken ? lost() : held()))).rejects.toThrow('the lock is gone');
  expect(backend.peek(CONFIG_COPY_NAME)).toEqual(backend.peek(CONFIG_NAME));
  for (const password of ['mine', 'hers']) expect((await open(backend, password)).seals.keys!.epoch).toBe(1);
});

test('a process that was suspended before it replaced config takes what another rotation has made', async () => {
  const backend = repository.backend.copy();
  const rename = backend.rename.bind(backend);
  let isTaken = false;
  backend.rename = async (source, target) => {
    if (target === CONFIG_NAME && !isTaken) {
      isTaken = true;
      // It ends what this one has begun, and removes all other keys.
      expect(await rotateIn(backend)).toMatchObject({ epoch: 3 });
    }
    await rename(source, target);
  };
  await expect(rotateIn(backend, 'mine', async () => (isTaken ? lost() : held()))).rejects.toThrow('the lock is gone');
  expect(backend.peek(CONFIG_NAME)).toEqual(backend.peek(CONFIG_COPY_NAME));
  expect((await expectUsable(backend)).seals.keys!.epoch).toBe(3);
});

test('a process that was suspended while it completed another rotation takes what a later one has made', async () => {
  const backend = repository.backend.copy();
  const dying = new FaultyBackend(backend, {
    failAt: 1,
    mode: 'crash',
    only: (kind, name) => kind === 'rename' && name.endsWith(` -> ${CONFIG_NAME}`),
  });
  await expect(rotateIn(dying)).rejects.toThrow(SimulatedCrash);
  const rename = backend.rename.bind(backend);
  let isTaken = false;
  backend.rename = async (source, target) => {
    if (target === CONFIG_NAME && !isTaken) {
      isTaken = true;
      expect(await rotateIn(backend)).toMatchObject({ epoch: 3 });
    }
    await rename(source, target);
  };
  await expect(rotateIn(backend, 'mine', async () => (isTaken ? lost() : held()))).rejects.toThrow('the lock is gone');
  expect(backend.peek(CONFIG_NAME)).toEqual(backend.peek(CONFIG_COPY_NAME));
  expect((await expectUsable(backend)).seals.keys!.epoch).toBe(3);
});
