import { Cursor } from '../../core/format/stranger-bytes.ts';
import { openConfig } from '../../core/format/stranger-config.ts';
import type { Json, StrangerConfig } from '../../core/format/stranger-config.ts';
import { openEnvelope } from '../../core/format/stranger-crypto.ts';
import type { StrangerKeys } from '../../core/format/stranger-crypto.ts';
import { DATA, TREE, chunkIdOf, decompress } from '../../core/format/stranger-packs.ts';
import { openManifest } from '../../core/format/stranger-repository.ts';
import { parseTree } from '../../core/format/stranger-trees.ts';
import type { MemoryBackend } from '../memory-backend.ts';

/** What a path must be after a restore: the bytes of a file, `-> target` of a symlink, or the number of its type. */
export type Expected = ReadonlyMap<string, Buffer | string>;

/** Nothing is compared below longer paths: the system takes no more than 4096 bytes. */
export const COMPARED_PATH_BYTES = 2000;

const FILE = 1;
const SYMLINK = 3;
const SOCKET = 7;

/**
 * Says what a restore of a snapshot must give, from nothing but the blocks that are there: a chunk is what has its id.
 * `undefined`: the snapshot is not whole, so a restore must not say that it is.
 */
export class Oracle {
  readonly #chunks = new Map<string, Buffer>();
  readonly #disk: MemoryBackend;
  readonly #keys: StrangerKeys;

  private constructor(disk: MemoryBackend, keys: StrangerKeys) {
    this.#disk = disk;
    this.#keys = keys;
  }

  /** Returns undefined if the configuration cannot be read. */
  static open(disk: MemoryBackend, keys: StrangerKeys): Oracle | undefined {
    const opened = ['config', 'config.bak']
      .map((name) => readConfig(disk, keys, name))
      .find((each) => each !== undefined);
    if (opened === undefined) return undefined;
    const oracle = new Oracle(disk, opened.keys);
    for (const name of disk.names().filter((each) => each.startsWith('packs/'))) {
      oracle.#readPack(opened.config, disk.view(name));
    }
    return oracle;
  }

  #readPack(config: StrangerConfig & Json, bytes: Buffer): void {
    for (let offset = 32; offset + 40 <= bytes.length;) {
      const end = offset + 40 + bytes.readUInt32LE(offset + 4);
      const block = attempt(() => openEnvelope(this.#keys, 'blocks', bytes.subarray(offset, end)));
      if (block === undefined) return;
      attempt(() => this.#readBlock(config, block));
      offset = end;
    }
  }

  #readBlock(config: StrangerConfig & Json, block: Buffer): void {
    const cursor = new Cursor(block);
    cursor.magic('LDMB');
    const [codec, kind] = [cursor.u8(), cursor.u8()];
    void cursor.take(2);
    const count = cursor.u32();
    void cursor.take(12);
    const lengths = cursor.u32s(count);
    const payload = cursor.take(cursor.leftBytes);
    const raw = new Cursor(codec === 0 ? payload : decompress(payload));
    for (const length of lengths) {
      const chunk = raw.take(length);
      this.#chunks.set(`${kind} ${chunkIdOf(config, kind, chunk)}`, chunk);
    }
  }

  expected(snapshotId: string): Expected | undefined {
    const names = ['snapshots', 'manifests.bak'].map((directory) => `${directory}/${snapshotId}`);
    const bytes = names.map((name) => this.#disk.peek(name)).find((each) => each !== undefined);
    const found = new Map<string, Buffer | string>();
    return attempt(() => {
      this.#visit(openManifest(this.#keys, bytes!).tree, '', found);
      return found;
    });
  }

  #visit(treeId: string, prefix: string, found: Map<string, Buffer | string>): void {
    for (const { name, type, chunkIds, sizeBytes, treeId: child, target } of parseTree(this.#chunkOf(TREE, treeId))) {
      const path = `${prefix}${name}`;
      const content = type === FILE ? Buffer.concat(chunkIds!.map((id) => this.#chunkOf(DATA, id))) : undefined;
      if (content !== undefined && content.length !== sizeBytes) throw new Error('another size');
      if (type !== SOCKET) found.set(path, content ?? (type === SYMLINK ? `-> ${target}` : String(type)));
      if (child !== undefined && path.length < COMPARED_PATH_BYTES) this.#visit(child, `${path}/`, found);
    }
  }

  #chunkOf(kind: number, id: string): Buffer {
    const chunk = this.#chunks.get(`${kind} ${id}`);
    if (chunk === undefined) throw new Error(`there is no chunk ${id}`);
    return chunk;
  }
}

const ID_KEY = /^[0-9a-f]{64}$/;

function readConfig(disk: MemoryBackend, keys: StrangerKeys, name: string): ReturnType<typeof openConfig> | undefined {
  const opened = attempt(() => openConfig(disk.peek(name)!, keys));
  // One that the program does not accept, so it uses the other copy.
  const isUsable =
    opened !== undefined && /^sha(1|256)$/.test(opened.config.chunk_hash) && ID_KEY.test(opened.config.id_key);
  return isUsable ? opened : undefined;
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
