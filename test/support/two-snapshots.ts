import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { backup } from '../../src/verbs/backup/backup.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import { MemoryBackend } from './memory-backend.ts';
import { createPrng } from './prng.ts';
import { simulatedProcess } from './simulated-process.ts';
import { memoryDirectory } from './temp-directory.ts';

/** A repository in memory with two snapshots of a directory with three files, of which the second has two new ones. */
export interface TwoSnapshots {
  readonly disk: MemoryBackend;
  readonly source: string;
  readonly first: string;
  readonly second: string;
}

export async function makeTwoSnapshots(): Promise<TwoSnapshots> {
  const disk = new MemoryBackend();
  await initRepository(simulatedProcess(disk), { capacity: 64 });
  const source = memoryDirectory();
  const save = async (): Promise<string> => {
    const { snapshotId } = await backup(simulatedProcess(disk), { sources: [source], cwd: '/' });
    return snapshotId!;
  };
  for (const index of [1, 2, 3]) writeFileSync(join(source, `file-${index}`), createPrng(index).bytes(5000));
  const first = await save();
  for (const index of [1, 2]) writeFileSync(join(source, `file-${index}`), createPrng(10 + index).bytes(5000));
  return { disk, source, first, second: await save() };
}
