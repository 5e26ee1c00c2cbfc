import { createHash } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { openPortableBlake3 } from '../../../src/core/crypto/blake3.ts';
import { UnsupportedFormatError } from '../../../src/core/errors.ts';
import { decodeConfig, encodeConfig } from '../../../src/core/format/config.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { checkAll, filesIn, flip, packsOfKind } from '../../support/damage.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { contents } from '../../support/repair-aftermath.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const DIGESTS = {
  sha256: (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex'),
  blake3: (bytes: Uint8Array): string => {
    const digest = openPortableBlake3()();
    digest.update(bytes);
    return digest.end();
  },
} as const;

type PackHash = keyof typeof DIGESTS;

/** Two snapshots that share half of their files. */
async function setScene(packHash: PackHash): Promise<MemoryBackend> {
  const disk = new MemoryBackend();
  const context = simulatedProcess(disk);
  await initRepository(context, { packHash });
  const source = memoryDirectory();
  const prng = createPrng(11);
  const names = Array.from({ length: 20 }, (_, index) => join(source, `file-${index}`));
  for (const name of names) writeFileSync(name, prng.bytes(1500));
  await backup(context, { sources: [source], cwd: source });
  for (const name of names.filter((_, index) => index % 2 === 0)) rmSync(name);
  await backup(context, { sources: [source], cwd: source });
  return disk;
}

function expectNamedBy(packHash: PackHash, disk: MemoryBackend): void {
  const packs = filesIn(disk, 'packs');
  expect(packs.length).toBeGreaterThan(1);
  for (const pack of packs) expect(pack.slice('packs/xx/'.length)).toBe(DIGESTS[packHash](disk.peek(pack)!));
}

describe.each(['blake3', 'sha256'] as const)('packs named by %s', (packHash) => {
  test('by a backup and by a compaction', async () => {
    const disk = await setScene(packHash);
    expectNamedBy(packHash, disk);
    const before = filesIn(disk, 'packs');
    await deleteSnapshots(simulatedProcess(disk), { selectors: ['latest~1'] });
    expect(filesIn(disk, 'packs').some((pack) => !before.includes(pack))).toBe(true);
    expectNamedBy(packHash, disk);
    expect((await checkAll(disk)).findings).toEqual([]);
  });

  test('by a repair, which sets the damaged one aside', async () => {
    const disk = await setScene(packHash);
    const pack = packsOfKind(disk, 'data')[0]!;
    await flip(disk, pack, 100).apply(disk);
    await repair(simulatedProcess(disk));
    expect(filesIn(disk, 'packs')).not.toContain(pack);
    expectNamedBy(packHash, disk);
    const segments = filesIn(disk, 'index');
    for (const segment of segments) expect(segment).toBe(`index/${DIGESTS.sha256(disk.peek(segment)!)}`);
  });

  test('a byte that no chunk holds is found by the name alone', async () => {
    const disk = await setScene(packHash);
    const pack = packsOfKind(disk, 'data')[0]!;
    // The version, at offset 8, is not looked at where a segment knows the pack.
    await flip(disk, pack, 8).apply(disk);
    const { findings, exitCode } = await checkAll(disk);
    expect(exitCode).toBe(4);
    const finding = findings.find(({ file }) => file === pack);
    expect(finding?.message).toContain('its digest differs from its name');
  });
});

test.each(['blake3', 'sha256'] as const)(
  'a sound pack of a newer format, named by %s and by no segment, is left to a newer program; damage is not',
  async (packHash) => {
    const disk = await setScene(packHash);
    for (const name of [...filesIn(disk, 'index'), ...filesIn(disk, 'filter')]) await disk.remove(name);
    const pack = packsOfKind(disk, 'data')[0]!;
    const newer = disk.peek(pack)!;
    newer[8] = 4;
    const damaged = disk.copy();
    damaged.poke(pack, newer);
    expect((await repair(simulatedProcess(damaged))).actions.length).toBeGreaterThan(0);
    await disk.remove(pack);
    const id = DIGESTS[packHash](newer);
    disk.poke(`packs/${id.slice(0, 2)}/${id}`, newer);
    const before = contents(disk);
    await expect(repair(simulatedProcess(disk))).rejects.toThrow(UnsupportedFormatError);
    expect(contents(disk)).toEqual(before);
  },
);

test('a repository says what its packs are named by, so that a program which does not know it leaves it alone', async () => {
  for (const [packHash, features] of [
    ['blake3', ['blake3-packs']],
    ['sha256', []],
  ] as const) {
    const disk = new MemoryBackend();
    const { packHash: chosen } = await initRepository(simulatedProcess(disk), { packHash });
    expect(chosen).toBe(packHash);
    const bytes = disk.peek('config')!;
    expect(JSON.parse(bytes.toString())).toMatchObject({ required_features: features });
    expect(decodeConfig(bytes).packHash).toBe(packHash);
    expect(encodeConfig(decodeConfig(bytes))).toEqual(bytes);
  }
});

test('BLAKE3 is what a repository gets that nobody chose for', async () => {
  expect(await initRepository(simulatedProcess(new MemoryBackend()))).toMatchObject({ packHash: 'blake3' });
});

test('the other hash makes every pack a finding', async () => {
  const disk = await setScene('sha256');
  const config = encodeConfig({ ...decodeConfig(disk.peek('config')!), packHash: 'blake3' });
  for (const name of ['config', 'config.bak']) disk.poke(name, config);
  const { findings } = await checkAll(disk);
  expect(new Set(findings.map(({ file }) => file))).toEqual(new Set(filesIn(disk, 'packs')));
});
