import { cpSync, lstatSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import type { TreeEntry } from '../compare-trees.ts';

/** Where the frozen repositories are: each is a directory, with a file beside it that says what is in it. */
export const FROZEN: string = new URL('../../../fixtures/repositories/', import.meta.url).pathname;

/** What a restore must give back of one entry. Fields without a value are left out. */
export type FrozenEntry = Partial<Omit<TreeEntry, 'uid' | 'gid' | 'rdev'>>;

/** What is in a repository, as whoever made the sources knows it: trees by the ids of their snapshots. */
export interface FrozenContents {
  /** Oldest first. Without holds. */
  readonly snapshots: Readonly<Record<string, Readonly<Record<string, FrozenEntry>>>>;
  /** Those whose delete can be undone. */
  readonly deleted?: FrozenContents['snapshots'];
}

/** What is written in `fixtures/repositories/<name>.json`. */
export interface FrozenManifest {
  readonly password?: string;
  /** By the directory of each repository below that of the fixture. */
  readonly repositories: Readonly<Record<string, FrozenContents>>;
}

export function frozenNames(): string[] {
  return readdirSync(FROZEN)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length));
}

export function readManifest(name: string): FrozenManifest {
  return JSON.parse(readFileSync(join(FROZEN, `${name}.json`), 'utf8')) as FrozenManifest;
}

/** Copies the bytes of a fixture as git gives them: without empty directories. */
export function copyFrozen(name: string, directory: string): void {
  const filter = (path: string): boolean => lstatSync(path).isFile() || readdirSync(path).length > 0;
  cpSync(join(FROZEN, name), directory, { recursive: true, filter });
}

const NOTHING: TreeEntry = {
  type: '',
  mode: '',
  uid: '',
  gid: '',
  mtimeNs: '',
  size: '',
  content: '',
  linkTarget: '',
  hardlinkGroup: '',
  rdev: '',
};

/** In the form of `describeTree`. */
export function expectedTree(tree: Readonly<Record<string, FrozenEntry>>): Map<string, string> {
  return new Map(Object.entries(tree).map(([path, entry]) => [path, JSON.stringify({ ...NOTHING, ...entry })]));
}

/** Leaves out what a restore need not give back: owners, and the directory itself. */
export function frozenTree(described: ReadonlyMap<string, string>): Record<string, FrozenEntry> {
  const entries = [...described].filter(([path]) => path !== '').sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([path, text]) => [path, frozenEntry(JSON.parse(text) as TreeEntry)]));
}

function frozenEntry({ uid: _uid, gid: _gid, rdev: _rdev, ...entry }: TreeEntry): FrozenEntry {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== ''));
}
