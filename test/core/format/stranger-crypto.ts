import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Cursor, demand, u16, u32 } from './stranger-bytes.ts';

/** docs/format.md, "Keys", "Envelopes" and "Encrypted streams". */

/** The kinds of content that have a key. */
export const LABELS = [
  'data ids',
  'chunker',
  'blocks',
  'footers',
  'segments',
  'snapshots',
  'condemnations',
  'commits',
  'filter',
  'config',
  'verified',
] as const;
export type Label = (typeof LABELS)[number];

export interface StrangerKeys {
  /** 32 bytes. */
  readonly repositoryId: Buffer;
  /** The master keys by epoch, 32 bytes each. */
  readonly masterKeys: ReadonlyMap<number, Buffer>;
  /** Where nonces are from, for tests that are repeated. Default: the system. */
  readonly random?: (sizeBytes: number) => Buffer;
}

const TAG_BYTES = 16;
const PIECE_BYTES = 1_048_576;

export function hkdf(key: Uint8Array, salt: Uint8Array, info: string, sizeBytes = 32): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, info, sizeBytes));
}

export function derivedKey({ repositoryId, masterKeys }: StrangerKeys, label: Label, epoch: number): Buffer {
  const masterKey = masterKeys.get(epoch);
  demand(masterKey !== undefined, `no master key of epoch ${epoch}`);
  return hkdf(masterKey, repositoryId, `ldm ${label}`);
}

export function newestEpoch({ masterKeys }: StrangerKeys): number {
  return Math.max(...masterKeys.keys());
}

/** AES-256-GCM; the tag is at the end. */
export function decrypt(key: Uint8Array, nonce: Uint8Array, associated: Uint8Array, sealed: Uint8Array): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(associated).setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
}

export function encrypt(key: Uint8Array, nonce: Uint8Array, associated: Uint8Array, plain: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(associated);
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Opens the envelope that these bytes are. */
export function openEnvelope(keys: StrangerKeys, label: Label, envelope: Uint8Array): Buffer {
  const cursor = new Cursor(envelope);
  cursor.magic('LDMX');
  const lengthBytes = cursor.u32();
  const epoch = cursor.u16();
  cursor.zeros(2);
  const nonce = cursor.take(12);
  const sealed = cursor.take(lengthBytes + TAG_BYTES);
  cursor.end();
  const associated = Buffer.concat([envelope.subarray(0, 12), keys.repositoryId]);
  return decrypt(derivedKey(keys, label, epoch), nonce, associated, sealed);
}

export function sealEnvelope(keys: StrangerKeys, label: Label, plain: Uint8Array): Buffer {
  const epoch = newestEpoch(keys);
  const head = Buffer.concat([Buffer.from('LDMX'), u32(plain.length), u16(epoch), u16(0)]);
  const nonce = (keys.random ?? randomBytes)(12);
  const associated = Buffer.concat([head, keys.repositoryId]);
  return Buffer.concat([head, nonce, encrypt(derivedKey(keys, label, epoch), nonce, associated, plain)]);
}

function streamNonce(index: number, isLast: boolean): Buffer {
  return Buffer.concat([Buffer.alloc(7), u32(index), Buffer.of(isLast ? 1 : 0)]);
}

export function openStream(keys: StrangerKeys, stored: Buffer): Buffer {
  const cursor = new Cursor(stored);
  cursor.magic('LDMXSTR1');
  const epoch = cursor.u16();
  cursor.zeros(6);
  const key = hkdf(derivedKey(keys, 'filter', epoch), cursor.take(32), 'ldm stream');
  const associated = Buffer.concat([stored.subarray(0, 48), keys.repositoryId]);
  const pieces: Buffer[] = [];
  do {
    const sealed = cursor.take(Math.min(PIECE_BYTES + TAG_BYTES, cursor.leftBytes));
    demand(sealed.length > TAG_BYTES, 'a piece is empty');
    pieces.push(decrypt(key, streamNonce(pieces.length, cursor.leftBytes === 0), associated, sealed));
  } while (cursor.leftBytes > 0);
  return Buffer.concat(pieces);
}

export function sealStream(keys: StrangerKeys, plain: Uint8Array): Buffer {
  const epoch = newestEpoch(keys);
  const header = Buffer.concat([
    Buffer.from('LDMXSTR1'),
    u16(epoch),
    Buffer.alloc(6),
    (keys.random ?? randomBytes)(32),
  ]);
  const key = hkdf(derivedKey(keys, 'filter', epoch), header.subarray(16), 'ldm stream');
  const associated = Buffer.concat([header, keys.repositoryId]);
  const count = Math.ceil(plain.length / PIECE_BYTES);
  const pieces = Array.from({ length: count }, (_, index) =>
    encrypt(
      key,
      streamNonce(index, index === count - 1),
      associated,
      plain.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES),
    ),
  );
  return Buffer.concat([header, ...pieces]);
}
