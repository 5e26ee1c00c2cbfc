import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

import { StoredMemory } from '../../src/console/repository-memory.ts';
import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import type { RepositoryMemory } from '../../src/core/session/memory.ts';
import type { Notice } from '../../src/core/session/notices.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { listSnapshots } from '../../src/verbs/snapshots/snapshots.ts';
import { FaultyBackend, SimulatedCrash } from './faulty-backend.ts';
import { simulatedProcess } from './simulated-process.ts';
import { memoryDirectory } from './temp-directory.ts';
import { TEST_PASSWORD } from './test-password.ts';

/** What a program that copies repositories may take from another day than the packs. */
const SMALL_DIRECTORIES = ['index', 'snapshots', 'manifests.bak', 'filter', 'deleted', 'condemned'];

export function newMemory(): StoredMemory {
  const unexpected = (message: string): never => expect.fail(message);
  return new StoredMemory(memoryDirectory(), { warn: unexpected, note: unexpected });
}

/** A repository on a real disk, and a source that changes before each backup. */
export class Scene {
  readonly repository: string = join(memoryDirectory(), 'repository');
  readonly notices: Notice[] = [];
  readonly #isEncrypted: boolean;
  readonly #source = memoryDirectory();
  #made = 0;

  constructor(encryption: 'always' | 'never') {
    this.#isEncrypted = encryption === 'always';
  }

  context(memory: RepositoryMemory | undefined): OperationContext {
    const onNotice = (notice: Notice): void => void this.notices.push(notice);
    const password = this.#isEncrypted ? TEST_PASSWORD : undefined;
    return { ...simulatedProcess(new LocalBackend(this.repository)), password, memory, onNotice };
  }

  async backUp(context: OperationContext): Promise<string> {
    this.#made += 1;
    this.bringFile(this.#made);
    return (await backup(context, { sources: [this.#source], cwd: '/' })).snapshotId!;
  }

  bringFile(number: number): void {
    writeFileSync(join(this.#source, `file-${number}`), `content ${number}`.repeat(500));
  }

  dropFile(number: number): void {
    rmSync(join(this.#source, `file-${number}`));
  }

  /**
   * A backup that dies when its packs are there: by default when they get durable, and no segment lists them yet. Returns
   * the packs.
   */
  async leavePacks(memory: RepositoryMemory | undefined, dying = 'syncDirectory packs/'): Promise<string[]> {
    const before = this.packs();
    const context = this.context(memory);
    const only = (operation: string, name: string): boolean => `${operation} ${name}`.includes(dying);
    const backend = new FaultyBackend(new LocalBackend(this.repository), { failAt: 1, mode: 'crash', only });
    await expect(this.backUp({ ...context, backend })).rejects.toThrow(SimulatedCrash);
    return this.packs().filter((pack) => !before.includes(pack));
  }

  packs(): string[] {
    const names = readdirSync(join(this.repository, 'packs'), { recursive: true, encoding: 'utf8' });
    return names.filter((name) => name.length > 64).toSorted();
  }

  keepSmallFiles(): string {
    return keepSmallFiles(this.repository);
  }

  putSmallFiles(kept: string): void {
    putSmallFiles(this.repository, kept);
  }
}

/** Returns a directory with copies. */
export function keepSmallFiles(repository: string): string {
  const kept = memoryDirectory();
  for (const name of SMALL_DIRECTORIES) copyTree(join(repository, name), join(kept, name));
  return kept;
}

export function putSmallFiles(repository: string, kept: string): void {
  for (const name of SMALL_DIRECTORIES) {
    rmSync(join(repository, name), { recursive: true, force: true });
    copyTree(join(kept, name), join(repository, name));
  }
}

function copyTree(from: string, to: string): void {
  cpSync(from, to, { recursive: true, preserveTimestamps: true });
}

/** The name under which a plain repository is remembered. */
export async function rememberedIdOf(context: OperationContext): Promise<string> {
  const memory = newMemory();
  const names: string[] = [];
  const noting: RepositoryMemory = {
    tracesOfPlace: (place) => memory.tracesOfPlace(place),
    tracesOfId: (id) => memory.tracesOfId(id),
    seenAt: (place) => memory.seenAt(place),
    recall: (place, id) => memory.recall(place, id),
    update: (place, id, change) => {
      names.push(id);
      memory.update(place, id, change);
    },
    forgetPlace: (place) => memory.forgetPlace(place),
    noteWritten: (...note) => memory.noteWritten(...note),
    writtenPacks: (...of) => memory.writtenPacks(...of),
    forgetWritten: (...of) => memory.forgetWritten(...of),
  };
  await listSnapshots({ ...context, memory: noting });
  return names[0]!;
}
