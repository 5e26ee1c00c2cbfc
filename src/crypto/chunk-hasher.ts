import { createHmac, createSecretKey, hkdfSync, webcrypto } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

export type ChunkHash = 'sha1' | 'sha256';

const ID_BYTES = 20;

/**
 * From this size on a chunk is hashed in the thread pool while the caller reads on. Below it the hand-over costs more
 * than the hash: 64 KiB take 37 us inline.
 */
const POOL_BYTES_MIN = 128 * 1024;

interface IdKey {
  readonly key: KeyObject;
  readonly pooled: webcrypto.CryptoKey;
}

/**
 * Chunk ids: HMAC (RFC 2104) of the bytes with a secret of the repository, 20 bytes.
 * Keyed, because plain SHA-1 gives the published colliding prefixes one id and so restores one file as the other.
 * Trees are hashed with a key of their own: a file that holds the bytes of a tree must not have that tree's id, or its
 * references would be counted as the tree's.
 */
export class ChunkHasher {
  readonly #algorithm: ChunkHash;
  readonly #data: IdKey;
  readonly #tree: IdKey;

  private constructor(algorithm: ChunkHash, data: IdKey, tree: IdKey) {
    this.#algorithm = algorithm;
    this.#data = data;
    this.#tree = tree;
  }

  /** `idKey`: 32 secret bytes. The tree key is HKDF-SHA-256 (RFC 5869) of it with the info "ldm tree id". */
  static async create(algorithm: ChunkHash, idKey: Uint8Array): Promise<ChunkHasher> {
    const treeKey = new Uint8Array(hkdfSync('sha256', idKey, '', 'ldm tree id', 32));
    return new ChunkHasher(algorithm, await importKey(algorithm, idKey), await importKey(algorithm, treeKey));
  }

  /** The id of a file chunk. */
  dataId(bytes: Uint8Array): Uint8Array {
    return this.#idOf(this.#data, bytes);
  }

  /** The id of a serialised tree. */
  treeId(bytes: Uint8Array): Uint8Array {
    return this.#idOf(this.#tree, bytes);
  }

  idOf(kind: 'data' | 'tree', bytes: Uint8Array): Uint8Array {
    return this.#idOf(kind === 'tree' ? this.#tree : this.#data, bytes);
  }

  /** As `idOf`; large chunks are hashed beside the caller. The bytes are copied before this returns. */
  idOfPooled(kind: 'data' | 'tree', bytes: Uint8Array): Uint8Array | Promise<Uint8Array> {
    if (bytes.length < POOL_BYTES_MIN) return this.idOf(kind, bytes);
    const { pooled } = kind === 'tree' ? this.#tree : this.#data;
    return webcrypto.subtle.sign('HMAC', pooled, bytes).then((mac) => new Uint8Array(mac, 0, ID_BYTES));
  }

  #idOf(key: IdKey, bytes: Uint8Array): Uint8Array {
    const mac = createHmac(this.#algorithm, key.key).update(bytes).digest();
    return mac.length === ID_BYTES ? mac : mac.subarray(0, ID_BYTES);
  }
}

async function importKey(algorithm: ChunkHash, bytes: Uint8Array): Promise<IdKey> {
  const hash = algorithm === 'sha1' ? 'SHA-1' : 'SHA-256';
  return {
    key: createSecretKey(bytes),
    pooled: await webcrypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash }, false, ['sign']),
  };
}
