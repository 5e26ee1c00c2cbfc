import { realpathSync } from 'node:fs';
import { LdmError } from '../errors.ts';
import type { Names } from '../files/source/name-list.ts';
import { errnoOf } from '../files/paths/path-failures.ts';
import { parentOf } from '../files/paths/root-paths.ts';
import { readMetadataFollowing } from '../files/source/source-metadata.ts';
import type { SourceMetadata } from '../files/source/status-fields.ts';
import { readWholeFile } from '../files/target/whole-file.ts';
import { decodeConfigHead } from '../format/config.ts';
import { MAX_CONFIG_BYTES } from '../format/constants.ts';
import { decodeGroupIdentity } from '../format/group-list.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME, DIRECTORIES, GROUP_ID_NAME, TOP_FILES } from '../format/layout.ts';
import type { ByteString } from '../util/byte-string.ts';
import { byteStringFromBytes, byteStringFromText, fsPath, joinPath } from '../util/byte-string.ts';
import { pathOf } from '../util/path-node.ts';
import type { PathNode } from '../util/path-node.ts';

/** A source directory that was left out because it holds the repository of the backup. */
export interface SkippedRepository {
  readonly path: ByteString;
  /** Whether this is not the opened directory itself, but a copy or the same files seen through another mount. */
  readonly isElsewhere: boolean;
}

/** Every repository has one of these next to its configuration, even if empty directories were lost. */
const COMPANIONS = ['locks', 'packs', 'snapshots'].map(byteStringFromText);
const CONFIG_NAMES = [CONFIG_NAME, CONFIG_COPY_NAME].map(byteStringFromText);
const GROUP_ID = byteStringFromText(GROUP_ID_NAME);
/** The names at the top of a repository. Anything else there belongs to the user. */
const OWN_NAMES = new Set([...DIRECTORIES, ...TOP_FILES].map(byteStringFromText));

/**
 * Recognizes the repository of a backup among its own sources, where it would make every backup larger. Device and
 * inode differ if the repository is seen through an overlay mount, so the repository id decides. A copy has the same id
 * and is left out too: storing it would double the repository.
 */
export class OwnRepository {
  readonly skipped: SkippedRepository[] = [];
  readonly #repositoryId: string;
  readonly #base: ByteString;
  readonly #opened: SourceMetadata | undefined;

  /** `place`: the repository itself, if it is a directory. `base`: the directory that the paths are relative to. */
  constructor(given: { readonly repositoryId: string; readonly place: string | undefined; readonly base: ByteString }) {
    this.#repositoryId = given.repositoryId;
    this.#base = given.base;
    this.#opened = given.place === undefined ? undefined : metadataOf(given.place);
  }

  /** Returns whether to leave out a directory. `names`: the names in it. */
  skips(
    directory: { readonly place: PathNode; readonly metadata: SourceMetadata; readonly prefix: ByteString },
    names: Names,
  ): boolean {
    const isGroup = names.includes(GROUP_ID);
    const isRepository =
      CONFIG_NAMES.some((name) => names.includes(name)) && COMPANIONS.some((name) => names.includes(name));
    if ((!isGroup && !isRepository) || !this.#isAt(directory.prefix)) return false;
    const { inode, device } = directory.metadata;
    const isElsewhere = !isGroup && (inode !== this.#opened?.inode || device !== this.#opened.device);
    this.skipped.push({ path: joinPath(this.#base, pathOf(directory.place)), isElsewhere });
    return true;
  }

  /** Returns whether a source is a part of the repository, such as its packs. */
  hasPart(source: ByteString): boolean {
    let path = joinPath(realPathOf(parentOf(source)), source.slice(source.lastIndexOf('/') + 1) as ByteString);
    for (; path !== '/'; path = parentOf(path)) {
      const name = path.slice(path.lastIndexOf('/') + 1) as ByteString;
      if (OWN_NAMES.has(name) && this.#isAt(parentOf(path))) return true;
    }
    return false;
  }

  #isAt(directory: ByteString): boolean {
    return [...CONFIG_NAMES, GROUP_ID].some(
      (name) => readRepositoryId(joinPath(directory, name), name === GROUP_ID) === this.#repositoryId,
    );
  }
}

/** Returns the path itself if it cannot be resolved. */
function realPathOf(path: ByteString): ByteString {
  try {
    return byteStringFromBytes(realpathSync.native(fsPath(path), 'buffer'));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return path;
  }
}

/** Returns undefined if the file is not a readable configuration, or not the identity of a group. */
function readRepositoryId(path: ByteString, isGroup: boolean): string | undefined {
  try {
    const bytes = readWholeFile(path, { maxBytes: MAX_CONFIG_BYTES });
    return (isGroup ? decodeGroupIdentity(bytes, GROUP_ID_NAME) : decodeConfigHead(bytes)).repositoryId;
  } catch (error) {
    if (error instanceof LdmError) return undefined;
    throw error;
  }
}

/** Returns undefined if the repository cannot be reached. */
function metadataOf(place: string): SourceMetadata | undefined {
  try {
    return readMetadataFollowing(byteStringFromText(place));
  } catch {
    return undefined;
  }
}
