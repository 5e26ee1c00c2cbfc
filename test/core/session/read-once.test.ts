import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { blockBytes } from '../../../src/core/format/block.ts';
import { baseName, packName } from '../../../src/core/format/layout.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { readSegment } from '../../../src/core/repository/manifests.ts';
import { CountingBackend } from '../../support/counting-backend.ts';
import { SMALL_INIT } from '../../support/crash-stage.ts';
import { filesIn, flip, packsOfKind } from '../../support/damage.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { withTemporaryDirectory } from '../../support/temp-directory.ts';
import { plainPlace } from '../../support/plain-place.ts';

interface Block {
  readonly name: string;
  readonly kind: 'data' | 'tree';
  readonly start: number;
  readonly end: number;
}

const disk = new MemoryBackend();
const blocks: Block[] = [];
let packBytes = 0;

beforeAll(async () => {
  await withTemporaryDirectory(fill);
  for (const name of filesIn(disk, 'index')) {
    for (const pack of await readSegment(plainPlace(disk), baseName(name))) {
      for (const { offset, chunkLengths, storedBytes } of pack.blocks) {
        const end = offset + blockBytes(chunkLengths.length, storedBytes);
        blocks.push({ name: packName(pack.id), kind: pack.kind, start: offset, end });
      }
    }
  }
  packBytes = filesIn(disk, 'packs').reduce((total, name) => total + disk.peek(name)!.length, 0);
  expect(packsOfKind(disk, 'tree').length).toBeGreaterThan(1);
  expect(packsOfKind(disk, 'data').length).toBeGreaterThan(1);
});

/** Several packs of each kind with several blocks, and a snapshot that no checkpoint contains. */
async function fill(work: string): Promise<void> {
  const prng = createPrng(1);
  const storeSizes = { blockRawBytes: 4096, packBytes: 16 * 1024, segmentBytes: 64 * 1024 };
  const context = { ...simulatedProcess(disk), storeSizes };
  await initRepository(context, SMALL_INIT);
  for (const round of [40, 41, 1]) {
    for (let index = 0; index < round; index += 1) {
      const directory = join(work, `directory-${index}`, 'sub');
      mkdirSync(directory, { recursive: true });
      for (let file = 0; file < 4; file += 1) writeFileSync(join(directory, `${round}-${file}`), prng.bytes(700));
    }
    await backup(context, { sources: [work], cwd: work });
  }
}

/** How often the blocks of one kind were read, each count once. */
function readCounts(backend: CountingBackend, kind: Block['kind']): number[] {
  const counts = blocks
    .filter((block) => block.kind === kind)
    .map(({ name, start, end }) => backend.readsOf(name, start, end));
  return [...new Set(counts)].toSorted((a, b) => a - b);
}

const COMMANDS: ReadonlyArray<[string, (context: OperationContext) => Promise<object>]> = [
  ['check --read-data', async (context) => check(context, { readData: true })],
  ['repair --dry-run', async (context) => repair(context, { dryRun: true })],
  ['repair', async (context) => repair(context)],
];

for (const [name, run] of COMMANDS) {
  for (const hasCheckpoints of [true, false]) {
    test(`${name} reads each block once, ${hasCheckpoints ? 'with' : 'without'} a checkpoint`, async () => {
      const copy = disk.copy();
      if (!hasCheckpoints) for (const file of filesIn(copy, 'filter')) await copy.remove(file);
      const backend = new CountingBackend(copy);
      await run(simulatedProcess(backend));
      expect([readCounts(backend, 'tree'), readCounts(backend, 'data')]).toEqual([[1], [1]]);
      expect(backend.bytesReadIn('packs') / packBytes).toBeLessThan(1.01);
    });
  }
}

test('check reads each block of trees once, and no data', async () => {
  const backend = new CountingBackend(disk.copy());
  await check(simulatedProcess(backend));
  // A read of such a small block goes on into the next ones.
  for (const { name, kind, start } of blocks) expect(backend.readsAt(name, start)).toBe(kind === 'tree' ? 1 : 0);
});

test('only what looks damaged is read again', async () => {
  const copy = disk.copy();
  const pack = packsOfKind(copy, 'data')[0]!;
  await flip(copy, pack, 300).apply(copy);
  const backend = new CountingBackend(copy);
  expect((await repair(simulatedProcess(backend))).remaining).not.toEqual([]);
  for (const { name, start, end } of blocks) {
    // Twice to be certain, and three times for what is still readable, of which two are compared.
    expect(backend.readsOf(name, start, end)).toBe(name === pack ? 5 : 1);
  }
});
