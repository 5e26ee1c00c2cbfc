import { createHmac, createSecretKey, hkdfSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

export type ChunkHash = 'sha1' | 'sha256';

const ID_BYTES = 20;

/** What the ids of one kind of chunk are computed with. Can be sent to a thread. */
export interface ChunkIdKey {
  readonly algorithm: ChunkHash;
  readonly secret: KeyObject;
}

/**
 * Chunk ids: HMAC (RFC 2104) of the bytes with a secret of the repository, 20 bytes.
 * Keyed, because plain SHA-1 gives the published colliding prefixes one id and so restores one file as the other.
 * Trees are hashed with a key of their own: a file that holds the bytes of a tree must not have that tree's id, or its
 * references would be counted as the tree's.
 */
export class ChunkHasher {
  readonly #data: ChunkIdKey;
  readonly #tree: ChunkIdKey;

  /** `idKey`: 32 secret bytes. The tree key is HKDF-SHA-256 (RFC 5869) of it with the info "ldm tree id". */
  constructor(algorithm: ChunkHash, idKey: Uint8Array) {
    const treeKey = new Uint8Array(hkdfSync('sha256', idKey, '', 'ldm tree id', 32));
    this.#data = { algorithm, secret: createSecretKey(idKey) };
    this.#tree = { algorithm, secret: createSecretKey(treeKey) };
  }

  keyOf(kind: 'data' | 'tree'): ChunkIdKey {
    return kind === 'tree' ? this.#tree : this.#data;
  }

  /** The id of a file chunk. */
  dataId(bytes: Uint8Array): Uint8Array {
    return chunkIdOf(this.#data, bytes);
  }

  /** The id of a serialised tree. */
  treeId(bytes: Uint8Array): Uint8Array {
    return chunkIdOf(this.#tree, bytes);
  }

  idOf(kind: 'data' | 'tree', bytes: Uint8Array): Uint8Array {
    return chunkIdOf(this.keyOf(kind), bytes);
  }
}

export function chunkIdOf({ algorithm, secret }: ChunkIdKey, bytes: Uint8Array): Uint8Array {
  const mac = createHmac(algorithm, secret).update(bytes).digest();
  return mac.length === ID_BYTES ? mac : mac.subarray(0, ID_BYTES);
}
