import { hostname as systemHostname } from 'node:os';
import { LdmError, SourceError, UsageError } from '../../core/errors.ts';
import { currentDirectory } from '../../core/files/paths/current-directory.ts';
import { openOwnerNames } from '../../core/files/native/owner-names.ts';
import { absolutePath, isWithin, parentOf } from '../../core/files/paths/root-paths.ts';
import { followLink } from '../../core/files/source/source-files.ts';
import { readMetadataFollowing } from '../../core/files/source/source-metadata.ts';
import type { SourceMetadata } from '../../core/files/source/status-fields.ts';
import type { StateReader } from '../../core/repository/state-reader.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { joinPath, textOf } from '../../core/util/byte-string.ts';
import { pathOf } from '../../core/util/path-node.ts';
import { Exclusion } from '../../core/sources/exclusion.ts';
import type { DirectoryRules, ExclusionOptions } from '../../core/sources/exclusion.ts';
import { namesUnder } from '../../core/sources/source-plan.ts';
import { directoryOf, locate } from './diff-sides.ts';
import type { DiffSides, NamedPlace } from './diff-sides.ts';
import { LiveDirectory, nameOf, rulesIn } from './live-directory.ts';
import type { LivePlace, LiveServices } from './live-directory.ts';
import { singleEntry } from './side.ts';

/** What of this machine is compared, and what happens to what cannot be read. */
interface LiveOptions extends Pick<LiveServices, 'repositoryPaths' | 'incompleteAttributes'> {
  readonly exclusion: ExclusionOptions;
  readonly onProblem: (path: ByteString, during: 'list' | 'stat' | 'attributes' | 'read', message: string) => void;
}

/**
 * Compares a snapshot, or a place in it, with a file or directory of this machine. Without a place, it is the one that
 * was backed up from there; if nothing was, it is the root of the snapshot, as for a restored one. `target` undefined:
 * everything that the snapshot was made of.
 */
export async function liveSides(
  reader: StateReader,
  { listing, path }: NamedPlace,
  target: ByteString | undefined,
  options: LiveOptions,
): Promise<DiffSides> {
  const { base, paths, hostname } = listing.snapshot;
  if (target === undefined && hostname !== systemHostname()) {
    throw new UsageError(`snapshot ${listing.id.slice(0, 8)} was made on ${hostname}, which is not this machine`, {
      advice: { code: 'name-directory-to-compare' },
    });
  }
  const live = absolutePath(target ?? base, currentDirectoryFor(target));
  const wasBackedUp =
    path === '' && isWithin(live, base) && paths.some((root) => isWithin(live, root) || isWithin(root, live));
  const metadata = metadataOf(live, target);
  const isDirectory = metadata.type === 'directory';
  const { entry, path: recorded } = await locate(reader, { listing, path: wasBackedUp ? live : path });
  if (isDirectory !== (entry.treeId !== undefined)) {
    const kinds = [entry.type, isDirectory ? 'directory' : 'file'];
    throw new UsageError(`${textOf(recorded)} in the snapshot is a ${kinds[0]}, but ${textOf(live)} is a ${kinds[1]}`);
  }
  const isHere = recorded === live;
  const top = isDirectory ? live : parentOf(live);
  const shownBase = isHere ? top : ('' as ByteString);
  // Patterns mean the paths that were backed up, as they do when files are restored.
  const patternBase = isDirectory ? recorded : parentOf(recorded);
  const exclusion = new Exclusion(options.exclusion, patternBase, (error) =>
    options.onProblem(error.path ?? live, 'read', error.message),
  );
  const followed = await followedRoots(reader, listing, isHere ? paths : []);
  const linked = isDirectory ? undefined : followLink(live);
  if (linked !== undefined) followed.set(live, linked);
  const services = { ...options, owners: openOwnerNames(), exclusion, followed };
  const place: LivePlace = isDirectory
    ? { path: live, node: undefined, ...scopeOf({ live, recorded, metadata, paths, exclusion }) }
    : { ...onlyNames(parentOf(live), [live]), path: top, node: undefined, device: metadata.device };
  return {
    before: isDirectory ? directoryOf(reader, entry) : singleEntry({ ...entry, name: nameOf(live) }),
    after: new LiveDirectory(place, services),
    base: shownBase,
    live: {
      pathOf: (node) => {
        const named = joinPath(top, pathOf(node));
        return followed.get(named) ?? named;
      },
      excludes: (node) => {
        const absolute = joinPath(patternBase, pathOf(node));
        return !paths.some((root) => isWithin(root, absolute)) && exclusion.excludesName(undefined, node) !== undefined;
      },
      unmatched: () => exclusion.unmatched(),
    },
  };
}

/** What is excluded in the directory that is compared. */
function scopeOf(given: {
  readonly live: ByteString;
  readonly recorded: ByteString;
  readonly metadata: SourceMetadata;
  readonly paths: readonly ByteString[];
  readonly exclusion: Exclusion;
}): Omit<LivePlace, 'path' | 'node'> {
  const { live, recorded, paths, exclusion } = given;
  const { device } = given.metadata;
  const root = paths.find((each) => isWithin(recorded, each));
  if (root === undefined) {
    // Beside the sources, there may be anything; in a restored directory, there should be nothing.
    const names = onlyNames(
      recorded,
      paths.filter((each) => isWithin(each, recorded)),
    );
    return { ...names, device, isPartial: recorded === live };
  }
  const isRoot = recorded === root || recorded !== live;
  const outer = isRoot ? undefined : rulesAbove(live, root, exclusion);
  return { device, outer, isRoot, planned: undefined, isPartial: false };
}

/** A directory of which only what is on the path to something is compared. */
function onlyNames(
  directory: ByteString,
  paths: readonly ByteString[],
): Pick<LivePlace, 'outer' | 'isRoot' | 'planned' | 'isPartial'> {
  return { outer: undefined, isRoot: true, planned: namesUnder(directory, paths), isPartial: true };
}

/** Each file that matters is looked for. */
const ANY_NAME = { includes: () => true };

/** Returns the rules for a directory below a source. */
function rulesAbove(directory: ByteString, root: ByteString, exclusion: Exclusion): DirectoryRules | undefined {
  const above: ByteString[] = [];
  for (let path = directory; path !== root;) above.unshift((path = parentOf(path)));
  const { device } = readMetadataFollowing(root);
  let outer: DirectoryRules | undefined;
  for (const path of above) {
    const node = { parent: undefined, name: nameOf(path) };
    outer = rulesIn({ path, node, device, outer, isRoot: path === root }, ANY_NAME, exclusion);
  }
  return outer;
}

/** Returns the sources that are symlinks to what was backed up in their place. */
async function followedRoots(
  reader: StateReader,
  listing: NamedPlace['listing'],
  roots: readonly ByteString[],
): Promise<Map<ByteString, ByteString>> {
  const followed = new Map<ByteString, ByteString>();
  for (const root of roots) {
    try {
      const target = followLink(root);
      if (target === undefined) continue;
      const { entry } = await locate(reader, { listing, path: root });
      if (entry.type !== 'symlink') followed.set(root, target);
    } catch (error) {
      // The comparison reports it.
      if (!(error instanceof LdmError)) throw error;
    }
  }
  return followed;
}

/** A name that does not exist may be a mistyped id of a snapshot. */
function metadataOf(live: ByteString, target: ByteString | undefined): SourceMetadata {
  try {
    return readMetadataFollowing(live);
  } catch (cause) {
    const isAbsent = cause instanceof SourceError && cause.errno === 'ENOENT';
    if (!isAbsent || target === undefined || target.includes('/')) throw cause;
    const details = { path: live, errno: 'ENOENT', advice: { code: 'name-one-snapshot' }, cause } as const;
    throw new SourceError(`${textOf(target)} is neither a snapshot nor a directory`, details);
  }
}

/** An absolute path must work even if the current directory was deleted. */
function currentDirectoryFor(path: ByteString | undefined): ByteString {
  return path === undefined || path.startsWith('/') ? ('/' as ByteString) : currentDirectory();
}
