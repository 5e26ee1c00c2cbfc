import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished, expect, test } from 'vitest';

import { BackendError } from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { openSnapshot } from '../../../src/core/snapshots/open-snapshot.ts';
import type { SnapshotFile } from '../../../src/core/snapshots/snapshot-file.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

/** Opens a file of a snapshot in memory, with chunks of a fixed size. */
async function open(content: Buffer, chunkBytes: number): Promise<{ file: SnapshotFile; disk: MemoryBackend }> {
  const disk = new MemoryBackend();
  const source = join(memoryDirectory(), 'file');
  writeFileSync(source, content);
  await initRepository(simulatedProcess(disk), { capacity: 64, chunker: { kind: 'fixed', sizeBytes: chunkBytes } });
  await backup(simulatedProcess(disk), { sources: [source], cwd: '/' });
  const snapshot = await openSnapshot(simulatedProcess(disk), { selector: 'latest', cacheBytes: 1 });
  onTestFinished(async () => snapshot.close());
  return { file: await snapshot.openFile(source), disk };
}

test('the pieces of a file are its chunks, cut to the range, and none is empty', async () => {
  const content = createPrng(1).bytes(2500);
  const { file } = await open(content, 1000);
  for (const [start, end, sizes] of [
    [0, 2500, [1000, 1000, 500]],
    [1000, 2000, [1000]],
    [999, 2001, [1, 1000, 1]],
    [2500, 2500, []],
  ] as const) {
    const pieces: Uint8Array[] = [];
    for await (const piece of file.pieces({ start, end })) {
      expect(piece.length).toBeGreaterThan(0);
      pieces.push(piece);
    }
    expect(pieces.map(({ length }) => length)).toEqual(sizes);
    expect(Buffer.concat(pieces)).toEqual(content.subarray(start, end));
  }
});

test('a part of a large chunk can be read after a read of it has failed', async () => {
  const content = Buffer.alloc(8 * 1024 * 1024, 'content ');
  const { file, disk } = await open(content, content.length);
  const readRange = disk.readRange.bind(disk);
  disk.readRange = async () => {
    throw new BackendError('the disk is busy', { kind: 'transient' });
  };
  await expect(file.read(0, 100)).rejects.toThrow('the disk is busy');
  disk.readRange = readRange;
  expect(Buffer.from(await file.read(0, 100))).toEqual(content.subarray(0, 100));
});
