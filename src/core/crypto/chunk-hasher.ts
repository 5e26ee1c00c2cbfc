import { createHmac, createSecretKey, hkdfSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

export type ChunkHash = 'sha1' | 'sha256';

const ID_BYTES = 20;

/** Algorithm and key for the ids of one kind of chunk. Can be sent to a thread. */
export interface ChunkIdKey {
  readonly algorithm: ChunkHash;
  /**
   * A `KeyObject`: with bytes, each id takes 20 us longer on Node 24. Not declared as one, so that the declarations of
   * the package do not need those of Node.
   */
  readonly secret: object;
}

/**
 * Computes chunk ids: HMAC (RFC 2104) of the bytes with a secret of the repository, 20 bytes. The hash is keyed because
 * with plain SHA-1 the published colliding prefixes would get the same id, and one file would be restored as the other.
 * Trees have a separate key: a file with the same bytes as a tree must not get the id of that tree, or its references
 * would be counted as references to the tree.
 */
export class ChunkHasher {
  readonly #data: ChunkIdKey;
  readonly #tree: ChunkIdKey;

  /** `idKey`: 32 secret bytes. The tree key is its HKDF-SHA-256 (RFC 5869) with the info "ldm tree id". */
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
  const mac = createHmac(algorithm, secret as KeyObject)
    .update(bytes)
    .digest();
  return mac.length === ID_BYTES ? mac : mac.subarray(0, ID_BYTES);
}
