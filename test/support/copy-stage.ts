import assert from 'node:assert/strict';

import type { Backend } from '../../src/core/backend/backend.ts';
import type { FileSystemBackend } from '../../src/core/backend/file-system-backend.ts';
import { decodeSnapshot } from '../../src/core/format/snapshot.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { copySnapshots } from '../../src/verbs/copy/copy.ts';
import type { CopyResult } from '../../src/verbs/copy/copy.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import type { InitOptions } from '../../src/core/creating/init-options.ts';
import { inTurn, restoreOne } from './aftermath.ts';
import { BACKUP, setStage } from './crash-stage.ts';
import type { Act, Stage } from './crash-stage.ts';
import { checkAll, filesIn } from './damage.ts';
import { fingerprint } from './interruption.ts';
import { MemoryBackend } from './memory-backend.ts';
import { simulatedProcess } from './simulated-process.ts';
import { inSoak } from './soak.ts';

/** A repository with three snapshots, and an empty one (`backend`) that they are copied to. */
export interface CopyStage extends Stage {
  readonly source: MemoryBackend;
}

export async function setCopyStage(directory: string, destination: InitOptions): Promise<CopyStage> {
  const stage = await setStage(directory, BACKUP);
  const backend = new MemoryBackend();
  await initRepository(simulatedProcess(backend), destination);
  return { ...stage, source: stage.backend, backend };
}

/** The copy of everything; the backend of the context is the destination. */
export function copyActOf(source: FileSystemBackend): Act {
  return {
    name: 'copy',
    deletedCount: 0,
    snapshotCount: 0,
    run: async (context) => copyAll(source, context.backend, context),
    changedIds: () => [],
  };
}

export async function copyAll(
  source: FileSystemBackend,
  destination: Backend,
  context: OperationContext = simulatedProcess(destination),
): Promise<CopyResult> {
  return await copySnapshots({ ...context, backend: source }, { destination: { backend: destination } });
}

/** The ids that the snapshots of a repository had where they were made, by their ids there. */
export function originalsById(disk: MemoryBackend): Map<string, string> {
  const names = filesIn(disk, 'snapshots');
  return new Map(names.map((name) => [name.slice(SNAPSHOTS.length), decodeSnapshot(disk.peek(name)!).original!]));
}

const SNAPSHOTS = 'snapshots/';

export function originalsIn(disk: MemoryBackend): string[] {
  return [...originalsById(disk).values()];
}

/** Uses the destination after an interrupted copy, examining each state only once. Says what is wrong. */
export class CopyAftermath {
  readonly #stage: CopyStage;
  readonly #known = new Map<string, readonly string[]>();

  constructor(stage: CopyStage) {
    this.#stage = stage;
  }

  /** `present`: originals that must have a copy. */
  async examine(disk: MemoryBackend, present: readonly string[]): Promise<readonly string[]> {
    const key = fingerprint(disk) + present.join();
    const known = this.#known.get(key) ?? (await this.#examine(disk, present));
    this.#known.set(key, known);
    return known;
  }

  async #examine(disk: MemoryBackend, present: readonly string[]): Promise<readonly string[]> {
    try {
      const missing = present.filter((id) => !originalsIn(disk).includes(id));
      const before = [...missing.map((id) => `${id} is gone`), ...(await this.#findWrong(disk))];
      const { problems, reused } = await copyAll(this.#stage.source, disk);
      assert.deepEqual(originalsIn(disk).sort(), [...this.#stage.snapshotIds].sort());
      assert(reused.bytes >= 0);
      // In the suite, every second state is copied to once more, and the others are compacted.
      const [isCopied, isCompacted] = inSoak([true, true], [this.#known.size % 2 === 0, this.#known.size % 2 > 0]);
      const after = isCopied ? await this.#copyAgain(disk) : [];
      if (isCompacted) after.push(...(await this.#compact(disk)));
      return [...before, ...problems.map(({ message }) => message), ...after];
    } catch (error) {
      return [String(error)];
    }
  }

  /** Nothing is stored twice. */
  async #copyAgain(disk: MemoryBackend): Promise<string[]> {
    const again = await copyAll(this.#stage.source, disk);
    assert.deepEqual(again.storedBytes, 0);
    assert.deepEqual(originalsIn(disk).sort(), [...this.#stage.snapshotIds].sort());
    return await this.#findWrong(disk);
  }

  async #compact(disk: MemoryBackend): Promise<string[]> {
    await compact(simulatedProcess(disk), { maxUnusedPercent: 0 });
    const left = [...filesIn(disk, 'tmp'), ...filesIn(disk, 'locks')].map((name) => `${name} was left`);
    return [...left, ...(await this.#findWrong(disk))];
  }

  /** What a check finds, and what a restore of any copy lacks. */
  async #findWrong(disk: MemoryBackend): Promise<string[]> {
    const { findings } = await checkAll(disk);
    const wrong = findings.map(({ kind, file = '', message }) => `${kind} ${file} ${message}`);
    for (const [id, original] of inTurn(this.#stage, [...originalsById(disk)])) {
      wrong.push(...(await restoreOne(disk, id, this.#stage.trees.get(original)!)));
    }
    return wrong;
  }
}
