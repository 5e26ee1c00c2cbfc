import assert from 'node:assert/strict';

import type { BackendFile } from '../../src/core/backend/backend.ts';
import { FileSystemBackend } from '../../src/core/backend/file-system-backend.ts';
import type { FileWriter } from '../../src/core/backend/publication.ts';
import { backendFailure } from '../../src/core/backend/backend-failure.ts';
import type { BackendOperation } from '../../src/core/backend/backend-failure.ts';
import { CorruptDataError } from '../../src/core/errors.ts';

const NOTHING = Buffer.alloc(0);

/** So that unindexed packs are not kept for a time: a compaction need not know whose they are. */
const LONG_AGO_MS = Date.UTC(2001);

/** The contents of one file, whatever its names are. They only ever grow. */
export class MemoryFile {
  bytes: Buffer;
  lengthBytes: number;
  heartbeat = 0;

  /** Nobody may change the bytes that it starts with: other files may start with the same. */
  constructor(bytes: Buffer = NOTHING) {
    this.bytes = bytes;
    this.lengthBytes = bytes.length;
  }

  append(bytes: Uint8Array): void {
    const endBytes = this.lengthBytes + bytes.length;
    if (endBytes > this.bytes.length) {
      const grown = Buffer.alloc(Math.max(endBytes, 2 * this.bytes.length));
      this.bytes.copy(grown, 0, 0, this.lengthBytes);
      this.bytes = grown;
    }
    this.bytes.set(bytes, this.lengthBytes);
    this.lengthBytes = endBytes;
  }

  contents(): Buffer {
    return Buffer.from(this.bytes.subarray(0, this.lengthBytes));
  }

  /** The bytes so far, to read only. The same object as long as nothing is appended. */
  view(): Buffer {
    if (this.bytes.length > this.lengthBytes) this.bytes = this.bytes.subarray(0, this.lengthBytes);
    return this.bytes;
  }
}

/** A repository in memory. Besides the interface, it lets a test look at and spoil the files directly. */
export class MemoryBackend extends FileSystemBackend {
  readonly location: string = 'memory';
  protected readonly filesByName: Map<string, MemoryFile> = new Map();
  protected readonly directories: Set<string> = new Set(['']);

  /** Every file, in the order of names. */
  names(): string[] {
    return [...this.filesByName.keys()].sort();
  }

  has(name: string): boolean {
    return this.filesByName.has(name);
  }

  /** The bytes of a file, or undefined. */
  peek(name: string): Buffer | undefined {
    return this.filesByName.get(name)?.contents();
  }

  /** Puts a file there, durably and with its directories, without counting as an operation. */
  poke(name: string, bytes: Uint8Array): void {
    this.share(name, Buffer.from(bytes));
  }

  directoryNames(): string[] {
    return [...this.directories].sort();
  }

  pokeDirectory(name: string): void {
    this.addDirectory(name);
  }

  /** The bytes of a file that there is, to read only; the same object as long as they are the same. */
  view(name: string): Buffer {
    return this.#existing('read', name).view();
  }

  /** As `poke`, with bytes that nobody changes any more. */
  share(name: string, bytes: Buffer): void {
    this.addDirectory(parentOf(name));
    this.filesByName.set(name, new MemoryFile(bytes));
  }

  /**
   * What happens to one of both does not show in the other. The bytes are shared, since thousands of copies are made and
   * most of each, such as the reserve, never changes.
   */
  copy(): MemoryBackend {
    const copy = new MemoryBackend();
    for (const directory of this.directories) copy.directories.add(directory);
    for (const [name, file] of this.filesByName) copy.share(name, file.view());
    return copy;
  }

  async makeDirectory(name: string): Promise<void> {
    for (let inner = name; inner !== ''; inner = parentOf(inner)) {
      if (this.filesByName.has(inner)) throw this.failure('makeDirectory', name, 'EEXIST');
    }
    this.addDirectory(name);
  }

  async list(directory: string): Promise<BackendFile[]> {
    if (!this.directories.has(directory)) throw this.failure('list', directory, 'ENOENT');
    const prefix = directory === '' ? '' : `${directory}/`;
    const names = this.names().filter((name) => name.startsWith(prefix));
    return names.map((name) => ({
      name,
      sizeBytes: this.filesByName.get(name)?.lengthBytes ?? 0,
      modifiedMs: LONG_AGO_MS,
    }));
  }

  async sizeOf(name: string): Promise<number | undefined> {
    return this.filesByName.get(name)?.lengthBytes;
  }

  async read(name: string): Promise<Buffer> {
    return this.#existing('read', name).contents();
  }

  async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    const file = this.#existing('readRange', name);
    const end = offset + target.length;
    if (end > file.lengthBytes) throw new CorruptDataError(`${name} ends before byte ${end}`);
    target.set(file.bytes.subarray(offset, end));
  }

  async create(name: string): Promise<FileWriter> {
    if (this.filesByName.has(name) || this.directories.has(name)) throw this.failure('create', name, 'EEXIST');
    this.#assertDirectory('create', parentOf(name));
    const file = new MemoryFile();
    this.filesByName.set(name, file);
    this.onCreate(name, file);
    return new MemoryWriter(file, () => this.onSync(file));
  }

  async rename(source: string, target: string): Promise<void> {
    const file = this.#existing('rename', source);
    this.#assertDirectory('rename', parentOf(target));
    if (this.directories.has(target)) throw this.failure('rename', target, 'EISDIR');
    if (source === target) return;
    this.filesByName.delete(source);
    this.filesByName.set(target, file);
    this.onRename(source, target, file);
  }

  async renameNew(source: string, target: string): Promise<void> {
    if (this.filesByName.has(target)) throw this.failure('rename', target, 'EEXIST');
    await this.rename(source, target);
  }

  async unlink(name: string): Promise<boolean> {
    const file = this.filesByName.get(name);
    if (file === undefined) return false;
    this.filesByName.delete(name);
    this.onRemove(name, file);
    return true;
  }

  async syncDirectory(directory: string): Promise<void> {
    this.#assertDirectory('syncDirectory', directory);
    this.onSyncDirectory(directory);
  }

  async touch(name: string): Promise<boolean> {
    const file = this.filesByName.get(name);
    if (file !== undefined) file.heartbeat += 1;
    return file !== undefined;
  }

  async heartbeatOf(name: string): Promise<string | undefined> {
    return this.filesByName.get(name)?.heartbeat.toString();
  }

  async close(): Promise<void> {
    // Nothing is open.
  }

  protected addDirectory(name: string): void {
    for (let inner = name; inner !== ''; inner = parentOf(inner)) this.directories.add(inner);
  }

  // What a disk that remembers what is durable needs to hear; here everything is durable at once.
  protected onCreate(_name: string, _file: MemoryFile): void {}
  protected onRename(_source: string, _target: string, _file: MemoryFile): void {}
  protected onRemove(_name: string, _file: MemoryFile): void {}
  protected onSync(_file: MemoryFile): void {}
  protected onSyncDirectory(_directory: string): void {}

  protected failure(operation: BackendOperation, name: string, errno: string): Error {
    return backendFailure({ location: this.location, operation, name, errno });
  }

  #existing(operation: BackendOperation, name: string): MemoryFile {
    const file = this.filesByName.get(name);
    if (file === undefined) throw this.failure(operation, name, this.directories.has(name) ? 'EISDIR' : 'ENOENT');
    return file;
  }

  #assertDirectory(operation: BackendOperation, directory: string): void {
    if (!this.directories.has(directory)) throw this.failure(operation, directory, 'ENOENT');
  }
}

class MemoryWriter implements FileWriter {
  readonly #file: MemoryFile;
  readonly #onSync: () => void;
  #isClosed = false;

  constructor(file: MemoryFile, onSync: () => void) {
    this.#file = file;
    this.#onSync = onSync;
  }

  async append(bytes: Uint8Array): Promise<void> {
    assert(!this.#isClosed, 'already closed');
    this.#file.append(bytes);
  }

  async sync(): Promise<void> {
    assert(!this.#isClosed, 'already closed');
    this.#onSync();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }
}

/** The directory that a name is in; empty for the top. */
export function parentOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('/')));
}
