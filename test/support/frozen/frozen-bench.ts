import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import type { BackupOptions } from '../../../src/verbs/backup/backup.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import type { SnapshotListing } from '../../../src/verbs/snapshots/snapshots.ts';
import { TaskPool } from '../../../src/core/workers/task-pool.ts';
import { describeTree } from '../compare-trees.ts';
import { testPassword } from '../test-password.ts';
import { FROZEN, frozenTree } from './frozen-repository.ts';
import type { FrozenContents, FrozenManifest } from './frozen-repository.ts';
import { changeWork, makeWork } from './frozen-work.ts';

type Trees = Record<string, FrozenContents['snapshots'][string]>;

/** Where a frozen repository is made. Its path gets into the snapshots and into what names other places. */
export class FrozenBench {
  readonly directory: string;
  readonly work: string;
  readonly #password: string | undefined;
  /** The trees of all snapshots that were made, as they were read from the sources. */
  readonly #trees = new Map<string, Trees[string]>();
  #version = 0;
  #day = 0;

  constructor(directory: string, password?: string) {
    this.directory = directory;
    this.work = join(directory, 'work');
    this.#password = password;
    mkdirSync(this.work, { recursive: true });
    makeWork(this.work);
  }

  place(name: string): string {
    return join(this.directory, name);
  }

  /** `packBytes`: of data that does not fit in one pack. */
  context(name = 'repository', packBytes = 100_000): OperationContext & { readonly backend: LocalBackend } {
    return {
      backend: new LocalBackend(this.place(name)),
      threads: new TaskPool({ threadCount: 0 }),
      storeSizes: { blockRawBytes: 4096, packBytes, segmentBytes: 100_000 },
      ...(this.#password === undefined ? {} : { password: testPassword(this.#password) }),
    };
  }

  change(): void {
    this.#version += 1;
    changeWork(this.work, this.#version);
  }

  /** Backs up, one day after the last time. Returns the id of the snapshot. */
  async save(context: OperationContext, options: Partial<BackupOptions> = {}): Promise<string> {
    this.#day += 1;
    const time = `2026-11-0${this.#day}T10:00:00.123456789Z`;
    const given = { sources: ['docs', 'photos'], cwd: this.work, hostname: 'tower', time, ...options };
    const { snapshotId } = await backup(context, given);
    this.#trees.set(snapshotId!, frozenTree(describeTree(this.work)));
    return snapshotId!;
  }

  /** What snapshots contain, by their ids. Some may have had others. */
  treesOf(listings: readonly SnapshotListing[]): Trees {
    const backups = listings.filter(({ snapshot }) => snapshot.hold === undefined);
    return Object.fromEntries(backups.map(({ id, snapshot }) => [id, this.#trees.get(snapshot.original ?? id)!]));
  }

  /** `parts`: what is copied, and to where below the fixture. */
  freeze(name: string, parts: Readonly<Record<string, string>>, repositories: FrozenManifest['repositories']): void {
    for (const [part, target] of Object.entries(parts)) freezeFiles(this.place(part), join(FROZEN, name, target));
    const manifest: FrozenManifest = {
      ...(this.#password === undefined ? {} : { password: this.#password }),
      repositories,
    };
    writeFileSync(join(FROZEN, `${name}.json`), `${JSON.stringify(manifest, undefined, 1)}\n`);
  }
}

/** What is no part of a repository at rest. */
const LEFT_OUT = /^(locks|tmp)\/|^reserve$/;

function freezeFiles(directory: string, target: string): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true, encoding: 'utf8' })) {
    const name = join(relative(directory, entry.parentPath), entry.name);
    if (entry.isFile() && !LEFT_OUT.test(name)) cpSync(join(directory, name), join(target, name));
  }
}
