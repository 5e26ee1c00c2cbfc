import { expect, test } from 'vitest';

import { CorruptDataError } from '../../../src/core/errors.ts';
import { decodeConfig, encodeConfig } from '../../../src/core/format/config.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { contents } from '../../support/repair-aftermath.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

test('two sound copies that differ: nobody guesses which one is right, and nothing is changed', async () => {
  const disk = new MemoryBackend();
  await initRepository(simulatedProcess(disk));
  const source = memoryDirectory();
  await backup(simulatedProcess(disk), { sources: [source], cwd: source });
  const config = decodeConfig(disk.peek('config')!);
  for (const other of [
    { ...config, packHash: 'sha256' },
    { ...config, idKey: 'ab'.repeat(32) },
  ] as const) {
    for (const name of ['config', 'config.bak']) {
      const mixed = disk.copy();
      mixed.poke(name, encodeConfig(other));
      const before = contents(mixed);
      for (const act of [
        async () => backup(simulatedProcess(mixed), { sources: [source], cwd: source }),
        async () => check(simulatedProcess(mixed)),
        async () => repair(simulatedProcess(mixed)),
      ]) {
        await expect(act()).rejects.toThrow(CorruptDataError);
        await expect(act()).rejects.toThrow('both valid, but differ');
      }
      expect(contents(mixed)).toEqual(before);
    }
  }
});

test('a filter that cannot be made is the fault of the configuration, not of the command', async () => {
  const disk = new MemoryBackend();
  await initRepository(simulatedProcess(disk));
  const config = decodeConfig(disk.peek('config')!);
  for (const ldm of [
    { ...config.ldm, capacity: Number.MAX_SAFE_INTEGER },
    { ...config.ldm, fprTarget: Number.MIN_VALUE },
  ]) {
    for (const name of ['config', 'config.bak']) disk.poke(name, encodeConfig({ ...config, ldm }));
    await expect(check(simulatedProcess(disk))).rejects.toMatchObject({
      code: 'CORRUPT_DATA',
      message: expect.stringMatching(/^config: .*out of range/) as string,
    });
  }
});
