import { packName } from '../../src/core/format/layout.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { backup } from '../../src/verbs/backup/backup.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import { readSegment } from '../../src/core/repository/manifests.ts';
import { filesIn } from './damage.ts';
import { MemoryBackend } from './memory-backend.ts';
import { createPrng } from './prng.ts';
import { simulatedProcess } from './simulated-process.ts';
import { memoryDirectory } from './temp-directory.ts';
import { plainPlace } from './plain-place.ts';

/** A repository after two backups of the same files that ran at the same time: each stored every chunk. */
export interface TwinCopies {
  readonly disk: MemoryBackend;
  readonly source: string;
  readonly snapshotIds: readonly string[];
  /** Packs of data, by their segment: those of one backup are the copies of those of the other. */
  readonly dataPacks: ReadonlyMap<string, readonly string[]>;
}

/** Random bytes, so that blocks are stored as they are and a flipped bit shows in the ids only. */
export async function makeTwinCopies(): Promise<TwinCopies> {
  const before = new MemoryBackend();
  await initRepository(simulatedProcess(before), { capacity: 64 });
  const source = memoryDirectory();
  for (const index of [1, 2, 3]) writeFileSync(join(source, `photo-${index}`), createPrng(index).bytes(5000));
  const disk = before.copy();
  const snapshotIds: string[] = [];
  for (const each of [disk, before]) {
    const { snapshotId } = await backup(simulatedProcess(each), { sources: [source], cwd: '/' });
    snapshotIds.push(snapshotId!);
  }
  for (const name of before.names())
    if (!/^(config|filter|reserve|locks)/.test(name)) disk.poke(name, before.peek(name)!);
  const dataPacks = new Map<string, string[]>();
  for (const segment of filesIn(disk, 'index')) {
    const packs = await readSegment(plainPlace(disk), segment.slice('index/'.length));
    dataPacks.set(
      segment,
      packs.filter(({ kind }) => kind === 'data').map(({ id }) => packName(id)),
    );
  }
  return { disk, source, snapshotIds, dataPacks };
}
