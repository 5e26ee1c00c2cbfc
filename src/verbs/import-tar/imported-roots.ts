import { UsageError } from '../../core/errors.ts';
import { absolutePath, commonParent, mergeRoots } from '../../core/files/paths/root-paths.ts';
import type { ByteString, PathInput } from '../../core/util/byte-string.ts';
import { byteStringOf, joinPath, textOf } from '../../core/util/byte-string.ts';
import { pathOf } from '../../core/util/path-node.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import { isDirectory } from './import-tree.ts';
import type { ImportTree, ImportedDirectory, ImportedName } from './import-tree.ts';

/** The paths that a snapshot records, and the directory whose contents are its root tree. */
export interface ImportedRoots {
  readonly base: ByteString;
  readonly roots: readonly ByteString[];
  readonly top: ImportedDirectory;
}

const ROOT = '/' as ByteString;
/** An archive with more entries at its top is recorded as the directory that contains them. */
const ROOTS_MAX = 100;

/** Splits an absolute path into components. */
export function componentsOf(path: ByteString): ByteString[] {
  return path.split('/').filter((name) => name !== '') as ByteString[];
}

/**
 * Finds out what a backup of the same files would have recorded: the given paths, or the outermost entries that the
 * archive has.
 * @throws UsageError if the archive lacks one of the paths, or has an entry outside of them
 */
export function findRoots(tree: ImportTree, paths: readonly PathInput[] | undefined): ImportedRoots {
  const given = mergeRoots((paths ?? []).map((path) => absolutePath(byteStringOf(path), ROOT)));
  const outermost = outermostEntries(tree.root, given);
  for (const path of given) assertPresent(tree, path);
  const outside = given.length === 0 ? undefined : outermost.find((path) => !given.includes(path));
  if (outside !== undefined) {
    throw new UsageError(`the archive has ${textOf(outside)}, which is not below the given paths`, {
      hint: 'Nothing was saved. Give all paths that the archive contains, or none.',
    });
  }
  const roots = outermost.length > ROOTS_MAX ? [commonParent(outermost)] : mergeRoots(outermost);
  const base = commonParent(roots);
  return { base, roots, top: tree.find(componentsOf(base)) as ImportedDirectory };
}

function assertPresent(tree: ImportTree, path: ByteString): void {
  const names = componentsOf(path);
  if (tree.find(names) !== undefined) return;
  const isRelative = tree.root.names.has(names.at(-1)!);
  const directory = textOf(joinPath(ROOT, names.slice(0, -1).join('/') as ByteString));
  throw new UsageError(
    `the archive has no ${textOf(path)}`,
    isRelative
      ? { advice: { code: 'import-from-base', subject: directory } }
      : {
          hint: 'Nothing was saved. Give a path as it is in the archive, or name the directory that its names are relative to.',
        },
  );
}

/** The given paths as a tree. */
interface GivenDirectory {
  readonly names: Map<ByteString, GivenDirectory>;
  isGiven: boolean;
}

function givenTree(paths: readonly ByteString[]): GivenDirectory {
  const root: GivenDirectory = { names: new Map(), isGiven: false };
  for (const path of paths) {
    let directory = root;
    for (const name of componentsOf(path)) {
      const next = directory.names.get(name) ?? { names: new Map(), isGiven: false };
      directory.names.set(name, next);
      directory = next;
    }
    directory.isGiven = true;
  }
  return root;
}

interface Pending {
  readonly place: PathNode;
  readonly name: ImportedName;
  readonly given: GivenDirectory | undefined;
}

/** Returns the given paths that exist, and the outermost entries outside of them that the archive has itself. */
function outermostEntries(root: ImportedDirectory, paths: readonly ByteString[]): ByteString[] {
  const found: ByteString[] = [];
  const top: PathNode = { parent: undefined, name: '' as ByteString };
  const pending: Pending[] = [{ place: top, name: root, given: givenTree(paths) }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { place, name, given } = next;
    const isAbove = given !== undefined && given.names.size > 0;
    const isIn = isDirectory(name) && name.handle === undefined && given?.isGiven !== true;
    if (isDirectory(name) && (isAbove || isIn)) {
      for (const [child, below] of name.names) {
        pending.push({ place: { parent: place, name: child }, name: below, given: given?.names.get(child) });
      }
    } else found.push(`/${pathOf(place)}` as ByteString);
  }
  return found;
}
