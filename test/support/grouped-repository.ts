import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { onTestFinished } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import type { InitOptions } from '../../src/core/creating/init-options.ts';
import type { Bucket } from './buckets.ts';
import { KeptTree } from './kept-tree.ts';
import { createPrng } from './prng.ts';
import { inSoak } from './soak.ts';
import { memoryDirectory, removeTree } from './temp-directory.ts';
import { makeTestRepository, TINY_CHUNKS } from './test-repository.ts';
import type { TestRepository } from './test-repository.ts';

/** Many small packs, so that every group gets some. */
export const SMALL_SIZES = { blockRawBytes: 4096, packBytes: 16_384, segmentBytes: 65_536 };

/** Every opening reads the whole filter, which grows if it has to. */
const SMALL_CAPACITY = 256;

export interface GroupedRepository extends TestRepository {
  readonly place: (name: string) => string;
  /** Makes a group look as if its disk was not mounted. */
  readonly unmount: (name: string) => void;
  readonly mount: (name: string) => void;
}

/** By name, the groups of a repository that are in buckets. The others are directories. */
type Buckets = Readonly<Record<string, Bucket>>;

export async function makeGrouped(
  names: readonly string[] = ['a', 'b'],
  { buckets = {}, ...options }: Partial<InitOptions> & { readonly buckets?: Buckets } = {},
  directory: string = memoryDirectory(),
): Promise<GroupedRepository> {
  const place = (name: string): string => buckets[name]?.place ?? join(directory, `group-${name}`);
  const groups = names.map((name) => ({ name, place: place(name) }));
  const made = await makeTestRepository(
    { groups, chunker: TINY_CHUNKS, capacity: SMALL_CAPACITY, ...options },
    directory,
    openPlaces(buckets),
  );
  Object.assign(made.context, { storeSizes: SMALL_SIZES });
  const away = (name: string): string => `${place(name)}-away`;
  return {
    ...made,
    place,
    unmount: (name) => {
      if (buckets[name] !== undefined) return buckets[name].setAway(true);
      renameSync(place(name), away(name));
      mkdirSync(place(name));
    },
    mount: (name) => {
      if (buckets[name] !== undefined) return buckets[name].setAway(false);
      rmSync(place(name), { recursive: true });
      renameSync(away(name), place(name));
    },
  };
}

/**
 * Returns a function that gives the repository that `make` makes, again and again as it was at first: at the same place,
 * and from memory, which takes a fraction of the time.
 */
export function keepGrouped<T extends GroupedRepository>(make: () => Promise<T>): () => Promise<T> {
  let kept: { readonly made: T; readonly tree: KeptTree; readonly context: OperationContext } | undefined;
  return async () => {
    if (kept === undefined) {
      const made = await make();
      kept = { made, tree: new KeptTree(made.directory), context: { ...made.context } };
    }
    const { made, tree, context } = kept;
    removeTree(made.directory);
    tree.restore();
    onTestFinished(() => removeTree(made.directory));
    // A test that failed may have left something in the context, such as a backend that fails.
    for (const name of Object.keys(made.context)) Reflect.deleteProperty(made.context, name);
    // Another process would know nothing of the files that were there.
    Object.assign(made.context, context, { backend: new LocalBackend(context.backend.location) });
    made.notices.length = 0;
    return made;
  };
}

/** Returns what opens the places of these buckets, and directories. */
export function openPlaces(buckets: Buckets): NonNullable<OperationContext['openPlace']> {
  return async (place) =>
    Object.values(buckets)
      .find((bucket) => bucket.place === place)
      ?.open() ?? new LocalBackend(place);
}

const twice = new Map<string, () => Promise<GroupedRepository>>();

/** A repository with two copies of each pack, with a backup of a file of so many bytes. It is made once. */
export async function makeTwice(
  names: readonly string[] = ['a', 'b'],
  bytes: number = inSoak(300_000, 150_000),
): Promise<GroupedRepository> {
  const key = `${names.join(' ')} ${bytes}`;
  const made = keepGrouped(async () => {
    const repository = await makeGrouped(names, { copies: 2 });
    fill(repository, 'one', 1, bytes);
    await repository.backup();
    return repository;
  });
  if (!twice.has(key)) twice.set(key, made);
  return await twice.get(key)!();
}

/** The times are whole seconds, which is what `keepGrouped` keeps of them. */
export function fill({ source }: TestRepository, name: string, seed: number, bytes = 200_000): void {
  const path = join(source, name);
  writeFileSync(path, createPrng(seed).bytes(bytes));
  const seconds = Math.floor(Date.now() / 1000);
  for (const each of [path, dirname(path), source]) utimesSync(each, seconds, seconds);
}

/** Backs up until a group has some packs: which group gets a pack depends on random ids. */
export async function backupInto(repository: GroupedRepository, name: string, bytes: number): Promise<void> {
  for (let number = 0; number === 0 || packsAt(repository.place(name)).length < 2; number += 1) {
    fill(repository, `file-${number}`, number, bytes);
    await repository.backup();
  }
}

/** The names of the packs in a group. */
export function packsAt(place: string): string[] {
  const entries = readdirSync(join(place, 'packs'), { recursive: true, withFileTypes: true, encoding: 'utf8' });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

/** The path of a pack, or of a copy of one, in a group. */
export function packPath(place: string, name: string): string {
  return join(place, 'packs', name.slice(0, 2), name);
}

export function sizeOfPacks(place: string, names: readonly string[] = packsAt(place)): number {
  return names.reduce((sum, name) => sum + statSync(packPath(place, name)).size, 0);
}

/** Changes a byte of a file. */
export function flipByte(path: string, offset: number): void {
  const bytes = readFileSync(path);
  bytes[offset]! ^= 1;
  writeFileSync(path, bytes);
}
