import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { CorruptDataError, LdmError } from '../core/errors.ts';
import { exclusively } from '../core/files/target/file-lock.ts';
import { errnoOf, reasonOf } from '../core/files/paths/path-failures.ts';
import { replaceFile } from '../core/files/target/replace-file.ts';
import { isId } from '../core/format/layout.ts';
import { JsonReader, encodeChecked, isUtcTime, parseChecked } from '../core/format/json-reader.ts';
import type { RepositoryMemory, SeenRepository } from '../core/session/memory.ts';
import { byteStringFromText } from '../core/util/byte-string.ts';
import { makeDirectories } from '../core/util/make-directories.ts';
import { addWritten, readWritten, takeBack } from './written-packs.ts';

const VERSION = 1;
/** More than a million snapshots. */
const MAX_BYTES = 2 ** 27;
const PLACE_DIGITS = 32;
const FILE_NAME = /^[0-9a-f]{64}-[0-9a-f]{32}\.json$/;
/** Those of repositories without encryption, too. */
const ANY_FILE_NAME = /^(plain-)?[0-9a-f]{64}-[0-9a-f]{32}\.json$/;
const NOTHING_THERE = new Set(['ENOENT', 'ENOTDIR']);

interface MemoryMessages {
  readonly warn: (message: string) => void;
  /** For what hardly anybody needs to know. */
  readonly note: (message: string) => void;
}

/**
 * What this machine remembers of repositories: a file for each repository at each place, named by its id and
 * the SHA-256 of the path. A copy at another place may be older. The name says enough to refuse a plain repository, so a
 * damaged file does that too; those of plain repositories have other names. Commands change it in turn.
 */
export class StoredMemory implements RepositoryMemory {
  readonly #directory: string | undefined;
  readonly #messages: MemoryMessages;
  readonly #damaged = new Set<string>();
  readonly #noted = new Set<string>();
  /** The last content that was decoded: that of 20,000 snapshots takes 70 ms, and is recalled several times. */
  #decoded: { readonly bytes: Buffer; readonly seen: SeenRepository } | undefined;

  /** `directory`: undefined if there is none, so that nothing is remembered. */
  constructor(directory: string | undefined, messages: MemoryMessages) {
    this.#directory = directory;
    this.#messages = messages;
  }

  tracesOfPlace(place: string): string[] {
    // As it was spelled, too: a symlink may have taken its place.
    const ends = [canonicalPlace(place), place].map(endOfName);
    return this.#find((name) => ends.some((end) => name.endsWith(end)));
  }

  tracesOfId(repositoryId: string): string[] {
    return this.#find((name) => name.startsWith(`${repositoryId}-`));
  }

  seenAt(place: string): SeenRepository[] {
    const end = endOfName(canonicalPlace(place));
    const paths = this.#find((name) => name.endsWith(end), ANY_FILE_NAME);
    return paths.flatMap((path) => this.#decode(path) ?? []);
  }

  recall(place: string, repositoryId: string): SeenRepository | undefined {
    const path = this.#pathOf(place, repositoryId);
    return path === undefined ? undefined : this.#decode(path);
  }

  #decode(path: string): SeenRepository | undefined {
    const bytes = this.#read(path);
    if (bytes === undefined) return undefined;
    if (this.#decoded?.bytes.equals(bytes) === true) return this.#decoded.seen;
    try {
      this.#decoded = { bytes, seen: decodeSeen(bytes) };
      return this.#decoded.seen;
    } catch (error) {
      if (!(error instanceof CorruptDataError)) throw error;
      if (!this.#damaged.has(path))
        this.#messages.warn(
          `${path} is damaged, so it is not known whether this machine has seen a newer state of the repository (${error.message}); what is there now is remembered`,
        );
      this.#damaged.add(path);
      return undefined;
    }
  }

  update(place: string, repositoryId: string, change: (seen: SeenRepository | undefined) => SeenRepository): void {
    const path = this.#pathOf(place, repositoryId);
    if (path === undefined)
      return this.#note('there is no home directory, so nothing is remembered about the repository');
    /** Returns undefined if nothing changes. */
    const encodeChange = (): Uint8Array | undefined => {
      const seen = change(this.recall(place, repositoryId));
      const bytes = encodeChecked({ format_version: VERSION, place, repository_id: repositoryId, ...membersOf(seen) });
      return this.#read(path)?.equals(bytes) === true ? undefined : bytes;
    };
    // What was written belongs to what was seen: without one, nothing would miss the snapshots that the packs are for.
    if (this.recall(place, repositoryId) === undefined) this.forgetWritten(place, repositoryId);
    if (encodeChange() === undefined) return;
    const isWritten = this.#attempt('write', path, () => {
      makeDirectories(dirname(path), { mode: 0o700 });
      exclusively(path, () => {
        const bytes = encodeChange();
        if (bytes !== undefined) replaceFile(byteStringFromText(path), bytes, 0o600);
      });
      return true;
    });
    if (isWritten !== true) this.forgetWritten(place, repositoryId);
  }

  forgetPlace(place: string): void {
    for (const path of this.tracesOfPlace(place)) {
      this.#attempt('remove', path, () => rmSync(path));
      this.#attempt('remove', writtenPathOf(path), () => rmSync(writtenPathOf(path)));
    }
  }

  noteWritten(place: string, repositoryId: string, packId: string): void {
    const path = this.#writtenPath(place, repositoryId);
    if (path !== undefined)
      this.#attempt('write', path, () => {
        makeDirectories(dirname(path), { mode: 0o700 });
        addWritten(path, packId);
      });
  }

  writtenPacks(place: string, repositoryId: string): ReadonlySet<string> {
    const path = this.#writtenPath(place, repositoryId);
    const written = path === undefined ? undefined : this.#attempt('read', path, () => readWritten(path));
    return written ?? new Set();
  }

  forgetWritten(place: string, repositoryId: string, packIds?: readonly string[]): void {
    const path = this.#writtenPath(place, repositoryId);
    if (path === undefined) return;
    const areTakenBack = this.#attempt('change', path, () => packIds !== undefined && takeBack(path, packIds));
    if (areTakenBack !== true) this.#attempt('remove', path, () => rmSync(path));
  }

  #writtenPath(place: string, repositoryId: string): string | undefined {
    const path = this.#pathOf(place, repositoryId);
    return path === undefined ? undefined : writtenPathOf(path);
  }

  #pathOf(place: string, repositoryId: string): string | undefined {
    return this.#directory === undefined
      ? undefined
      : join(this.#directory, `${repositoryId}${endOfName(canonicalPlace(place))}`);
  }

  /** Returns the paths of the files with matching names. */
  #find(matches: (name: string) => boolean, form = FILE_NAME): string[] {
    const directory = this.#directory;
    if (directory === undefined) return [];
    const names = this.#attempt('list', directory, () => readdirSync(directory)) ?? [];
    return names.filter((name) => form.test(name) && matches(name)).map((name) => join(directory, name));
  }

  #read(path: string): Buffer | undefined {
    return this.#attempt('read', path, () => readFileSync(path));
  }

  #note(message: string): void {
    if (!this.#noted.has(message)) this.#messages.note(message);
    this.#noted.add(message);
  }

  /** Nothing of a backup depends on it. */
  #attempt<T>(operation: string, path: string, act: () => T): T | undefined {
    try {
      return act();
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === undefined && !(error instanceof LdmError)) throw error;
      if (operation === 'write' || !NOTHING_THERE.has(errno ?? '')) {
        const reason = error instanceof LdmError ? error.message : `cannot ${operation} ${path}: ${reasonOf(error)}`;
        this.#note(`what this machine has seen of the repository: ${reason}`);
      }
      return undefined;
    }
  }
}

/** Returns the file beside another one that has the ids of written packs, one in each line: of killed processes, too. */
function writtenPathOf(path: string): string {
  return path.replace(/\.json$/, '.packs');
}

/**
 * Without symlinks, so that another path to the same place is the same. What does not exist stays as it is, and so does a
 * place on another machine, whose name would be taken for a path below the current directory.
 */
function canonicalPlace(place: string): string {
  if (!isAbsolute(place)) return place;
  try {
    return realpathSync.native(place);
  } catch {
    return dirname(place) === place ? place : join(canonicalPlace(dirname(place)), basename(place));
  }
}

function endOfName(place: string): string {
  return `-${createHash('sha256').update(place).digest('hex').slice(0, PLACE_DIGITS)}.json`;
}

function membersOf(seen: SeenRepository): Record<string, unknown> {
  const { firstSeen, keyId, epoch, generation, commit, hasGroups, isOwnServer, isOlder, snapshots } = seen;
  return {
    ...(firstSeen === undefined ? {} : { first_seen: firstSeen }),
    ...(keyId === undefined ? {} : { key_id: keyId }),
    epoch,
    generation,
    commit,
    ...(hasGroups === true ? { has_groups: true } : {}),
    ...(isOwnServer === true ? { is_own_server: true } : {}),
    ...(isOlder ? { is_older: true } : {}),
    snapshots: [...snapshots].map(([id, time]) => (time === undefined ? id : `${id} ${time}`)).sort(),
  };
}

/**
 * Place and id in the file are for people.
 * @throws CorruptDataError
 */
function decodeSeen(bytes: Uint8Array): SeenRepository {
  const reader = new JsonReader(parseChecked(bytes, { maxBytes: MAX_BYTES, what: 'memory' }), 'memory');
  void reader.integer('format_version', VERSION, VERSION);
  const entries = reader.strings('snapshots', isEntry).map((entry) => entry.split(' '));
  return {
    firstSeen: reader.has('first_seen') ? reader.string('first_seen', isUtcTime) : undefined,
    keyId: reader.has('key_id') ? reader.string('key_id', isId) : undefined,
    epoch: reader.has('epoch') ? reader.count('epoch') : 0,
    generation: reader.count('generation'),
    commit: reader.has('commit') ? reader.count('commit') : 0,
    hasGroups: reader.has('has_groups') && reader.boolean('has_groups'),
    isOwnServer: reader.has('is_own_server') && reader.boolean('is_own_server'),
    isOlder: reader.has('is_older') && reader.boolean('is_older'),
    snapshots: new Map(entries.map(([id, time]) => [id!, time])),
  };
}

function isEntry(text: string): boolean {
  const [id, time, ...rest] = text.split(' ');
  return isId(id!) && (time === undefined || isUtcTime(time)) && rest.length === 0;
}
