import { METADATA_DIRECTORY, baseName, directoryOf, packName } from '../../core/format/layout.ts';
import { StoreError } from '../objects/object-store.ts';
import type { ObjectStatus, ObjectStore, PutOptions, StoredObject } from '../objects/object-store.ts';
import { parseDirectory, parseList, rcloneError, sizeFrom } from './rclone-answer.ts';
import type { DirectoryEntry } from './rclone-answer.ts';
import { RcloneConnection } from './rclone-connection.ts';
import type { RcloneAnswer, RcloneRequest } from './rclone-connection.ts';
import { formatRemote } from './rclone-place.ts';
import type { RcloneAddress } from './rclone-place.ts';
import { RcloneProgram, endError } from './rclone-program.ts';

/** Where a group has copies of what is small in the repository. */
const COPIES = `${METADATA_DIRECTORY}/`;
const REQUESTS_AT_ONCE = 16;
/** Its cache would show locks as they were, and files that others have removed. */
const SERVE = ['serve', 'restic', '--stdio', '--cache-objects=false', '--ask-password=false', '--'];
const LIST_DIRECTORY = ['lsjson', '--no-modtime', '--no-mimetype', '--ask-password=false', '--'];
/** https://rclone.org/docs/#exit-code */
const DIRECTORY_NOT_FOUND = 3;
const LIST_HEADERS = { accept: 'application/vnd.x.restic.rest.v2' };

/** One request about a key, or about a directory, which ends with a slash. */
type KeyRequest = Omit<RcloneRequest, 'path'> & { readonly key: string };

/**
 * A path in a remote of rclone, by the REST protocol of restic, which rclone serves. rclone replaces what exists, whatever
 * the request says, so only one client may write.
 *
 * Wherever something fails while rclone opens a file, it answers that there is none. So a file counts as absent
 * only if a listing lacks it, too: a listing that fails is reported as an error.
 */
export class RcloneStore implements ObjectStore {
  readonly isShared: boolean = false;
  readonly requestsAtOnce: number = REQUESTS_AT_ONCE;
  readonly #command: readonly string[];
  readonly #address: RcloneAddress;
  readonly #signal: AbortSignal | undefined;
  #connection: RcloneConnection | undefined;

  /** @param command - rclone, with arguments before those of ldm */
  constructor(command: readonly string[], address: RcloneAddress, signal?: AbortSignal) {
    this.#command = command;
    this.#address = address;
    this.#signal = signal;
  }

  async put(key: string, bytes: Uint8Array, { ifAbsent = false }: PutOptions = {}): Promise<void> {
    if (ifAbsent && (await this.head(key)) !== undefined) {
      throw new StoreError('it exists', { kind: 'exists', isAnswer: true });
    }
    await this.#sendPresent({ method: 'POST', key, body: bytes });
  }

  async get(key: string): Promise<Uint8Array> {
    return (await this.#sendPresent({ method: 'GET', key })).body;
  }

  async getRange(key: string, offset: number, lengthBytes: number): Promise<Uint8Array> {
    const headers = { range: `bytes=${offset}-${offset + lengthBytes - 1}` };
    const answer = await this.#send({ method: 'GET', key, headers });
    if (answer === undefined) {
      const listed = await this.#find(key);
      if (listed !== undefined && listed.sizeBytes <= offset) return new Uint8Array(0);
      throw listed === undefined ? absent() : await this.#failure(404, key);
    }
    if (answer.status === 200) return answer.body.subarray(offset, offset + lengthBytes);
    const [, start, size] = /^bytes (\d+)-[-\d]+\/(\d+)$/.exec(answer.headers['content-range'] ?? '') ?? [];
    if (start !== String(offset) || answer.body.length > lengthBytes) {
      throw new StoreError(`rclone sent other bytes than those from ${offset}`, { kind: 'other', isAnswer: true });
    }
    const expectedBytes = Math.max(0, Math.min(lengthBytes, Number(size) - offset));
    if (answer.body.length === expectedBytes) return answer.body;
    throw new StoreError('rclone sent a part of the bytes', { kind: 'transient', isAnswer: true });
  }

  /** What changed cannot be told from the size, and not every cloud has the time of a change. */
  async head(key: string): Promise<ObjectStatus | undefined> {
    const answer = await this.#send({ method: 'HEAD', key });
    const sizeBytes = answer === undefined ? (await this.#find(key))?.sizeBytes : sizeFrom(answer);
    return sizeBytes === undefined ? undefined : { sizeBytes, version: undefined };
  }

  async remove(key: string): Promise<void> {
    const answer = await this.#send({ method: 'DELETE', key });
    if (answer === undefined && (await this.#find(key)) !== undefined) throw await this.#failure(404, key);
  }

  /** rclone tells only the last part of each name. Where that is not enough, the directories are listed one by one. */
  async list(prefix: string): Promise<StoredObject[]> {
    if (prefix === '' || prefix === COPIES) return await this.#listAll(prefix);
    if (prefix.endsWith('packs/'))
      return await this.#list(prefix, (name) => prefix.replace(/packs\/$/, '') + packName(name));
    return await this.#list(prefix, (name) => prefix + name);
  }

  async children(prefix: string): Promise<string[]> {
    return (await this.#listDirectory(prefix)).map(({ name }) => name);
  }

  async close(): Promise<void> {
    await this.#connection?.close();
  }

  async #list(prefix: string, keyOf: (name: string) => string): Promise<StoredObject[]> {
    const answer = await this.#send({ method: 'GET', key: prefix, headers: LIST_HEADERS });
    // Some versions answer this to any failure. A directory that does not exist is an empty list.
    if (answer === undefined) throw await this.#failure(404, prefix.replace(/\/$/, ''));
    return parseList(answer.body, keyOf);
  }

  async #listAll(prefix: string): Promise<StoredObject[]> {
    const objects: StoredObject[] = [];
    for (const { name, sizeBytes } of await this.#listDirectory(prefix)) {
      if (sizeBytes === undefined) objects.push(...(await this.list(`${prefix}${name}/`)));
      else objects.push({ key: prefix + name, sizeBytes });
    }
    return objects;
  }

  /** Asks for a file by a listing of its directory. */
  async #find(key: string): Promise<StoredObject | undefined> {
    const directory = directoryOf(key);
    if (directory !== '') {
      const files = await this.#list(`${directory}/`, (name) => `${directory}/${name}`);
      return files.find((file) => file.key === key);
    }
    // A listing of the root by the server would be one of everything.
    const entry = (await this.#listDirectory('')).find(({ name }) => name === baseName(key));
    return entry?.sizeBytes === undefined ? undefined : { key, sizeBytes: entry.sizeBytes };
  }

  /**
   * Lists what is directly in a directory, by a program of its own, which the signal ends. One that does not exist is
   * empty.
   */
  async #listDirectory(prefix: string): Promise<DirectoryEntry[]> {
    this.#signal?.throwIfAborted();
    const remote = formatRemote({ ...this.#address, path: joinPath(this.#address.path, prefix) });
    const program = new RcloneProgram([...this.#command, ...LIST_DIRECTORY, remote]);
    const parts: Buffer[] = [];
    program.stdout.on('data', (part: Buffer) => parts.push(part));
    let isInterrupted = false;
    const giveUp = (): void => {
      isInterrupted = true;
      program.kill();
    };
    this.#signal?.addEventListener('abort', giveUp, { once: true });
    const end = await program.ended;
    this.#signal?.removeEventListener('abort', giveUp);
    if (isInterrupted) throw this.#signal?.reason;
    if (end.code === DIRECTORY_NOT_FOUND) return [];
    if (end.code === 0) return parseDirectory(Buffer.concat(parts));
    const { kind, hint } = rcloneError(undefined, end.reason);
    throw kind === 'transient' ? endError(end, remote) : new StoreError(end.reason, { kind, hint, isAnswer: true });
  }

  async #sendPresent(request: KeyRequest): Promise<RcloneAnswer> {
    const answer = await this.#send(request);
    if (answer !== undefined) return answer;
    throw (await this.#find(request.key)) === undefined ? absent() : await this.#failure(404, request.key);
  }

  /** Returns undefined if rclone says that there is nothing, which may be wrong. */
  async #send({ key, ...request }: KeyRequest): Promise<RcloneAnswer | undefined> {
    const path = `/${key.split('/').map(encodeURIComponent).join('/')}`;
    const answer = await this.#connected().send({ ...request, path });
    if (answer.status >= 200 && answer.status < 300) return answer;
    if (answer.status === 404) return undefined;
    throw await this.#failure(answer.status, key.replace(/\/$/, ''));
  }

  async #failure(status: number, name: string): Promise<StoreError> {
    return rcloneError(status, await this.#connection?.messages.about(name));
  }

  #connected(): RcloneConnection {
    if (this.#connection === undefined || this.#connection.isLost) {
      const remote = formatRemote(this.#address);
      this.#connection = new RcloneConnection([...this.#command, ...SERVE, remote], remote, { signal: this.#signal });
    }
    return this.#connection;
  }
}

function joinPath(path: string, prefix: string): string {
  const rest = prefix.replace(/\/$/, '');
  return rest === '' || path === '' || path.endsWith('/') ? path + rest : `${path}/${rest}`;
}

function absent(): StoreError {
  return new StoreError('there is no such file', { kind: 'absent', isAnswer: true });
}
