import { SnapshotNotFoundError, SourceError, UsageError } from '../../../core/errors.ts';
import { CHUNK_ID_BYTES } from '../../../core/format/constants.ts';
import { filesBelow, placeOf } from '../../../core/files/source/files-below.ts';
import { readMetadata } from '../../../core/files/source/source-metadata.ts';
import type { OpenedState } from '../../../core/repository/opened-state.ts';
import type { Repository } from '../../../core/repository/repository.ts';
import { findEntry } from '../../../core/repository/snapshot-path.ts';
import { TreeWalk, readTree } from '../../../core/repository/tree-walk.ts';
import { FileCutter } from '../../../core/saving/file-cutter.ts';
import type { OperationContext } from '../../../core/session/context.ts';
import { isSnapshotName, parseSelector, selectSnapshot } from '../../../core/snapshots/select-snapshots.ts';
import { byteStringOf, joinPath } from '../../../core/util/byte-string.ts';
import type { ByteString, PathInput } from '../../../core/util/byte-string.ts';
import { Pacer } from '../../../core/util/pacer.ts';
import { pathOf } from '../../../core/util/path-node.ts';

const HEX_ID = /^[0-9a-f]{40}$/i;

/** A chunk that is looked for. */
export interface SoughtChunk {
  readonly id: Uint8Array;
  /** Where it begins in the file; undefined for an id, and where that is not known. */
  readonly offset: number | undefined;
}

/** A file below a directory that is looked for. */
export interface SoughtFile {
  readonly path: ByteString;
  /** Undefined: it could not be read. */
  readonly chunkIds: readonly Uint8Array[] | undefined;
}

/** What a target names: chunks, or the files below a directory, which are read while they are taken. */
type Target =
  | { readonly kind: 'chunks'; readonly chunks: readonly SoughtChunk[] }
  | { readonly kind: 'directory'; readonly files: AsyncGenerator<SoughtFile> };

/** Finds out what a target names. */
export class Targets {
  readonly #context: OperationContext;
  readonly #repository: Repository;
  readonly #opened: OpenedState;
  readonly #pacer: Pacer;

  constructor(context: OperationContext, repository: Repository, opened: OpenedState) {
    this.#context = context;
    this.#repository = repository;
    this.#opened = opened;
    this.#pacer = new Pacer(context);
  }

  /**
   * @param target - a chunk id (40 hex digits), `SEL:path` in a snapshot, or a path on this machine. A file there may have
   * a name like one of a snapshot; `./` before it tells them apart.
   * @throws UsageError if it is none of these
   * @throws SnapshotNotFoundError
   * @throws SourceError if a file or directory on this machine cannot be read
   */
  async find(target: PathInput): Promise<Target> {
    const text = byteStringOf(target);
    if (HEX_ID.test(text)) return { kind: 'chunks', chunks: [{ id: Buffer.from(text, 'hex'), offset: undefined }] };
    const { name, path } = parseSelector(target);
    if (text.includes(':') && isSnapshotName(name)) return await this.#inSnapshot(name, path);
    const place = placeOf(text, true);
    if (readMetadata(place).type === 'directory') return { kind: 'directory', files: this.#filesOnDisk(text) };
    const chunks: SoughtChunk[] = [];
    for (const { id, offset } of this.#chunksOf(new FileCutter(this.#repository), place)) {
      chunks.push({ id, offset });
      await this.#pacer.pause();
    }
    return { kind: 'chunks', chunks };
  }

  #chunksOf(cutter: FileCutter, place: ByteString): ReturnType<FileCutter['chunks']> {
    const { filter } = this.#opened.state;
    return cutter.chunks(place, (id) => filter.find(id, 0) >= 0);
  }

  async #inSnapshot(name: string, path: ByteString): Promise<Target> {
    const { reader } = this.#opened;
    const listing = selectSnapshot(this.#context, await this.#repository.files.readSnapshots(), name);
    const { entry, directory } = await findEntry(async (treeId) => readTree(reader, treeId), listing, path);
    if (entry.type === 'file') return { kind: 'chunks', chunks: chunksOfEntry(this.#opened, entry.chunkIds) };
    if (entry.treeId === undefined)
      throw new UsageError(`${name}:${path} is a ${entry.type}, and has no content`, {
        hint: 'Name a file or a directory in the snapshot.',
      });
    const top = joinPath(directory, entry.name);
    const entries = await readTree(reader, entry.treeId).catch((cause: unknown) => {
      throw new SnapshotNotFoundError(`the directory ${name}:${path} cannot be read`, { cause });
    });
    return { kind: 'directory', files: this.#filesOfWalk(new TreeWalk(reader, { entries }), top) };
  }

  async *#filesOfWalk(walk: TreeWalk, top: ByteString): AsyncGenerator<SoughtFile> {
    for (let step = await walk.next(); step !== undefined; step = await walk.next()) {
      const path = joinPath(top, pathOf(step));
      if (step.kind === 'unreadable') yield { path, chunkIds: undefined };
      else if (step.kind === 'entry' && step.entry.type === 'file')
        yield { path, chunkIds: [...idsIn(step.entry.chunkIds)] };
      await this.#pacer.pause();
    }
  }

  async *#filesOnDisk(named: ByteString): AsyncGenerator<SoughtFile> {
    const cutter = new FileCutter(this.#repository);
    const unreadable: SoughtFile[] = [];
    const onProblem = (path: ByteString, error: unknown): void => {
      if (this.#report(path, error)) unreadable.push({ path, chunkIds: undefined });
    };
    for (const { path, place } of filesBelow(named, onProblem)) {
      yield* unreadable.splice(0);
      try {
        const chunkIds: Uint8Array[] = [];
        for (const { id } of this.#chunksOf(cutter, place)) {
          chunkIds.push(id);
          await this.#pacer.pause();
        }
        yield { path, chunkIds };
      } catch (error) {
        onProblem(path, error);
      }
    }
    yield* unreadable;
  }

  /** Returns false for what has gone since its directory was read. */
  #report(path: ByteString, error: unknown): boolean {
    if (!(error instanceof SourceError)) throw error;
    if (error.errno === 'ENOENT') return false;
    this.#context.onNotice?.({ kind: 'source-problem', path, during: 'read', message: error.message });
    return true;
  }
}

function* idsIn(chunkIds: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < chunkIds.length; at += CHUNK_ID_BYTES) yield chunkIds.slice(at, at + CHUNK_ID_BYTES);
}

function chunksOfEntry({ state: { filter } }: OpenedState, chunkIds: Uint8Array): SoughtChunk[] {
  const chunks: SoughtChunk[] = [];
  // Unknown after a chunk that is missing here, because its length is unknown.
  let offset: number | undefined = 0;
  for (const id of idsIn(chunkIds)) {
    chunks.push({ id, offset });
    const entry = filter.find(id, 0);
    offset =
      offset === undefined || entry < 0 || !filter.hasLocation(entry) ? undefined : offset + filter.lengthOf(entry);
  }
  return chunks;
}
