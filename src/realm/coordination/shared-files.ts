import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { CorruptDataError } from '../../core/errors.ts';
import { CoordinatorError } from './realm-errors.ts';

/** Errors of file systems that cannot sync a directory and do not need to. */
const NO_DIRECTORY_SYNC = new Set(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP']);

const TEMPORARY = /^(.+)\.[0-9a-f]{12}\.tmp$/;

/** The name that a file will have when it is complete. Undefined: it is complete, or none of these. */
export function unfinishedName(name: string): string | undefined {
  return TEMPORARY.exec(name)?.[1];
}

/** Files in a directory that several machines use, such as one on NFS. Names are relative to it. */
export class SharedFiles {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** The names in a directory; none if it does not exist, but an error if the root does not. */
  names(directory: string): string[] {
    return this.#run('read', directory, () => {
      const path = join(this.#root, directory);
      if (existsSync(path)) return readdirSync(path);
      this.#assertRoot();
      return [];
    });
  }

  /** Returns undefined if there is no such file. */
  read(name: string, limitBytes: number): Uint8Array | undefined {
    return this.#run('read', name, () => {
      const path = join(this.#root, name);
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats === undefined) return undefined;
      // A FIFO would be waited for.
      if (!stats.isFile()) throw new CorruptDataError(`${path} is not a file`);
      if (stats.size > limitBytes)
        throw new CorruptDataError(`${path} has ${stats.size} bytes, more than ${limitBytes}`);
      return readUnlessGone(path);
    });
  }

  /** Writes a file, durably. Returns false if there is one of that name. */
  writeNew(name: string, bytes: Uint8Array): boolean {
    return this.#run('write', name, () => {
      const path = join(this.#root, name);
      mkdirSync(dirname(path), { recursive: true });
      // Readers ignore names with this ending.
      const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
      try {
        writeDurably(temporary, bytes);
        linkSync(temporary, path);
      } catch (error) {
        if (errnoOf(error) === 'EEXIST') return false;
        throw error;
      } finally {
        rmSync(temporary, { force: true });
      }
      syncDirectory(dirname(path));
      return true;
    });
  }

  remove(name: string): void {
    this.#run('remove', name, () => rmSync(join(this.#root, name), { force: true }));
  }

  /** A disk that is not mounted must not look like a realm without members. */
  #assertRoot(): void {
    if (existsSync(this.#root)) return;
    throw new CoordinatorError(`the directory ${this.#root} of the realm is not there`, {
      hint: 'Mount it, or create it before the first repository joins.',
    });
  }

  #run<T>(verb: string, name: string, action: () => T): T {
    try {
      return action();
    } catch (cause) {
      if (cause instanceof CoordinatorError || cause instanceof CorruptDataError) throw cause;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new CoordinatorError(`cannot ${verb} ${join(this.#root, name)}: ${reason}`, { cause });
    }
  }
}

function readUnlessGone(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function writeDurably(path: string, bytes: Uint8Array): void {
  const descriptor = openSync(path, 'wx', 0o644);
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } catch (error) {
    if (!NO_DIRECTORY_SYNC.has(errnoOf(error) ?? '')) throw error;
  } finally {
    closeSync(descriptor);
  }
}

function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
