import { sha256 } from '../../core/format/stranger-bytes.ts';
import { sealEnvelope } from '../../core/format/stranger-crypto.ts';
import { DATA, TREE, chunkIdOf } from '../../core/format/stranger-packs.ts';
import type { StrangerPack } from '../../core/format/stranger-packs.ts';
import {
  encodeManifest,
  encodeSegment,
  encodeTree,
  makeBlock,
  makeKeys,
  makePack,
  newPlace,
  sealFile,
} from '../../core/format/stranger-writer.ts';
import type { StrangerPlace, WrittenBlock, WrittenEntry } from '../../core/format/stranger-writer.ts';
import type { PasswordSource } from '../../../src/core/session/unlock.ts';
import { MemoryBackend } from '../memory-backend.ts';
import { testPassword } from '../test-password.ts';

const PASSWORD = 'password';
const DIRECTORIES = ['packs', 'index', 'snapshots', 'condemned', 'deleted', 'manifests.bak', 'filter', 'locks', 'tmp'];
/** In a block. */
const CHUNKS_MAX = 1000;

/** The keys of all hostile repositories, so that the password is paid for once. */
export class HostilePlace {
  readonly opened: StrangerPlace = newPlace();
  readonly password: PasswordSource = testPassword(PASSWORD);
  #files: ReadonlyMap<string, Buffer> | undefined;

  async repository(): Promise<HostileRepository> {
    this.#files ??= await makeKeys(this.opened, PASSWORD);
    return new HostileRepository(this.opened, this.#files);
  }
}

/** A repository that somebody writes who has the key and follows no rules. */
export class HostileRepository {
  readonly disk: MemoryBackend = new MemoryBackend();
  readonly place: StrangerPlace;
  /** What is to be written to packs of each kind. */
  readonly chunks: ReadonlyMap<number, Map<string, Buffer>> = new Map([
    [DATA, new Map<string, Buffer>()],
    [TREE, new Map<string, Buffer>()],
  ]);
  readonly packs: StrangerPack[] = [];

  constructor(place: StrangerPlace, files: ReadonlyMap<string, Buffer>) {
    this.place = place;
    for (const directory of DIRECTORIES) this.disk.pokeDirectory(directory);
    for (const [name, bytes] of files) this.disk.poke(name, bytes);
  }

  /** Adds a chunk. Returns its id. */
  add(kind: number, bytes: Buffer): string {
    const id = chunkIdOf(this.place.config, kind, bytes);
    this.chunks.get(kind)!.set(id, bytes);
    return id;
  }

  data(bytes: Buffer | string): string {
    return this.add(DATA, Buffer.from(bytes));
  }

  tree(...entries: readonly WrittenEntry[]): string {
    return this.add(TREE, encodeTree(entries));
  }

  /** Writes a pack, which the next segment lists. */
  async pack(
    kind: number,
    blocks: readonly WrittenBlock[],
    endOf?: Parameters<typeof makePack>[3],
  ): Promise<StrangerPack> {
    const { pack, bytes } = await makePack(this.place, kind, blocks, endOf);
    this.disk.poke(`packs/${pack.id.slice(0, 2)}/${pack.id}`, bytes);
    this.packs.push(pack);
    return pack;
  }

  block(kind: number, ...chunks: readonly Buffer[]): WrittenBlock {
    return makeBlock(this.place, kind, chunks);
  }

  segment(packs: readonly StrangerPack[] = this.packs): void {
    this.disk.poke(...sealFile(this.place, { directory: 'index', label: 'segments' }, encodeSegment(packs)));
  }

  manifest(tree: string, members: Parameters<typeof encodeManifest>[1] = {}): string {
    const sealed = sealEnvelope(this.place.keys, 'snapshots', encodeManifest(tree, members));
    const id = sha256(sealed);
    this.disk.poke(`snapshots/${id}`, sealed);
    return id;
  }

  /** Writes all chunks that were added, and a segment that lists all packs. */
  async finish(...roots: readonly string[]): Promise<void> {
    for (const [kind, chunks] of this.chunks) {
      const all = [...chunks.values()];
      const blocks: WrittenBlock[] = [];
      for (let i = 0; i < all.length; i += CHUNKS_MAX) blocks.push(this.block(kind, ...all.slice(i, i + CHUNKS_MAX)));
      if (blocks.length > 0) await this.pack(kind, blocks);
    }
    this.segment();
    for (const root of roots) this.manifest(root);
  }
}
