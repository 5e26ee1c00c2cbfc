import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backup } from '../../src/verbs/backup/backup.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import type { PasswordSource } from '../../src/core/session/unlock.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import { DurableOrder } from '../../src/core/repository/durable-order.ts';
import { addKey } from '../../src/core/repository/keys/key-changes.ts';
import { TaskPool } from '../../src/core/workers/task-pool.ts';
import { openStranger } from '../core/format/stranger-repository.ts';
import type { StoredFiles, StrangerRepository } from '../core/format/stranger-repository.ts';
import { sealFile } from '../core/format/stranger-writer.ts';
import { u32 } from '../core/format/stranger-bytes.ts';
import { describeTree } from './compare-trees.ts';
import type { TreeDescription } from './crash-stage.ts';
import { MemoryBackend } from './memory-backend.ts';
import { plainPlace } from './plain-place.ts';
import { createPrng } from './prng.ts';
import { testPassword } from './test-password.ts';

export const STAGE_PASSWORD = 'password of the stage';
const OTHER_PASSWORD = 'another password';

/** A tiny encrypted repository in memory, with at least one file of every kind, and what it must restore. */
export interface EncryptedStage {
  readonly backend: MemoryBackend;
  /** Pays for the password once, for this repository and all copies of it. */
  readonly password: PasswordSource;
  /** The trees of the snapshots that are not deleted, by id. */
  readonly trees: ReadonlyMap<string, TreeDescription>;
  readonly opened: StrangerRepository;
  /** The key file of another password. */
  readonly spareKey: string;
}

/** No threads: the work of a few kilobytes takes less time than a message. */
const threads = new TaskPool({ threadCount: 0 });

export function contextOf(backend: MemoryBackend, password: PasswordSource): OperationContext {
  const storeSizes = { blockRawBytes: 512, packBytes: 4096, segmentBytes: 20_000 };
  return { backend, password, threads, storeSizes, lockWaitMs: 0 };
}

export function storedFilesOf(backend: MemoryBackend): StoredFiles {
  return new Map(backend.names().map((name) => [name, backend.peek(name)!]));
}

const BACKUP = { cwd: '/', hostname: 'stage' } as const;

/**
 * Makes the stage: two snapshots of `work`, a deleted one that can still come back, two checkpoints, a condemnation of
 * a pack that is gone, and two key files. `seed`: another one gives other files. `states` gets copies of earlier states.
 */
export async function setEncryptedStage(
  directory: string,
  { seed = 1, states = [] }: { readonly seed?: number; readonly states?: MemoryBackend[] } = {},
): Promise<EncryptedStage> {
  const backend = new MemoryBackend();
  const password = testPassword(STAGE_PASSWORD);
  const context = contextOf(backend, password);
  await initRepository(context, {
    chunker: { kind: 'fastcdc', minSizeBytes: 64, averageSizeBytes: 128, maxSizeBytes: 256 },
    capacity: 16,
  });
  const prng = createPrng(seed);
  const work = join(directory, 'work');
  mkdirSync(join(work, 'sub'), { recursive: true });
  writeFileSync(join(work, 'random'), prng.bytes(400));
  writeFileSync(join(work, 'sub', 'text'), `${seed} `.repeat(300));
  writeFileSync(join(work, 'sub', 'tiny'), `tiny ${seed}\n`);
  writeFileSync(join(work, 'empty'), '');
  symlinkSync('sub/tiny', join(work, 'link'));
  const trees = new Map<string, TreeDescription>();
  for (let version = 0; version < 3; version++) {
    writeFileSync(join(work, `version-${version}`), prng.bytes(40));
    const time = `2026-01-0${version + 1}T00:00:00Z`;
    const { snapshotId } = await backup(context, { ...BACKUP, sources: [work], time });
    trees.set(snapshotId!, describeTree(work));
    states.push(backend.copy());
  }
  const [first] = trees.keys();
  await deleteSnapshots(context, { selectors: [first!], reclaim: false });
  trees.delete(first!);
  const opened = await openStranger(storedFilesOf(backend), STAGE_PASSWORD);
  const gone = Buffer.alloc(32, seed);
  const condemnation = Buffer.concat([Buffer.from('LDMCOND1'), u32(1, 0, 1, 0), Buffer.alloc(16, seed), gone]);
  backend.poke(...sealFile(opened, { directory: 'condemned', label: 'condemnations' }, condemnation));
  const [masterKey] = opened.keys.masterKeys.values();
  const kdf = { memoryKib: 8192, passes: 8, lanes: 1 };
  const keyId = await addKey(new DurableOrder(plainPlace(backend)), {
    repositoryId: opened.config.repository_id,
    masterKey: { epoch: 1, bytes: masterKey! },
    password: Buffer.from(OTHER_PASSWORD),
    role: 'read',
    created: '2026-01-04T00:00:00Z',
    kdf,
  });
  return { backend, password, trees, opened, spareKey: `keys/${keyId}` };
}
