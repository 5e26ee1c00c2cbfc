import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Cipher, CipherGCM, DecipherGCM, KeyObject } from 'node:crypto';
import { CorruptDataError } from '../errors.ts';

/**
 * An envelope holds bytes that are encrypted and authenticated: AES-256-GCM (NIST SP 800-38D) with a random nonce.
 * Header of 24 bytes: magic, length of the ciphertext (u32), epoch of the key (u16), two zeros, nonce (12). Then come
 * the ciphertext, which is as long as the plaintext, and the tag. The associated data are the first 12 bytes of the
 * header and the repository id. docs/format.md specifies it.
 */
const MAGIC = 'LDMX';
const LENGTH_OFFSET = 4;
const EPOCH_OFFSET = 8;
const NONCE_OFFSET = 12;
const NONCE_BYTES = 12;
export const ENVELOPE_HEADER_BYTES: number = NONCE_OFFSET + NONCE_BYTES;
export const TAG_BYTES = 16;
/** What an envelope adds to its contents. */
export const ENVELOPE_BYTES: number = ENVELOPE_HEADER_BYTES + TAG_BYTES;
export const ENVELOPE_MAGIC: Buffer = Buffer.from(MAGIC, 'latin1');

const ALGORITHM = 'aes-256-gcm';
/** The output of each call is new memory. In small pieces, that memory is reused while it is in the cache. */
const PIECE_BYTES = 64 * 1024;

/** A key for envelopes of one kind. Can be sent to a thread. */
export interface EnvelopeKey {
  readonly epoch: number;
  /** A `KeyObject` of 32 bytes, see `ChunkIdKey`. */
  readonly secret: object;
  /** 32 bytes. */
  readonly repositoryId: Uint8Array;
}

/** Returns the size of the envelope that begins with these bytes. At least `ENVELOPE_HEADER_BYTES` are needed. */
export function sizeOfEnvelope(header: Uint8Array): number {
  return ENVELOPE_BYTES + viewOf(header).readUInt32LE(LENGTH_OFFSET);
}

/**
 * Returns the epoch of the key of an envelope.
 * @throws CorruptDataError if the header is none
 */
export function epochOfEnvelope(envelope: Uint8Array): number {
  const { length } = envelope;
  if (length < ENVELOPE_BYTES) throw new CorruptDataError(`${length} bytes are too few to be encrypted`);
  return epochOfHeader(envelope);
}

/** The number of first bytes that contain the epoch, of an envelope and of a stream. */
export const EPOCH_HEADER_BYTES: number = NONCE_OFFSET;

/** Like `epochOfEnvelope`, of the first bytes. Nothing has verified the epoch. */
export function epochOfHeader(first: Uint8Array): number {
  const header = viewOf(first);
  if (!header.subarray(0, MAGIC.length).equals(ENVELOPE_MAGIC)) throw new CorruptDataError('it is not encrypted');
  return header.readUInt16LE(EPOCH_OFFSET);
}

/** Puts bytes into an envelope. */
export function sealEnvelope(key: EnvelopeKey, plain: Uint8Array): Buffer {
  const sealer = new EnvelopeSealer(key, plain.length);
  const envelope = Buffer.allocUnsafe(ENVELOPE_BYTES + plain.length);
  envelope.set(sealer.header);
  sealer.encrypt(plain, envelope.subarray(ENVELOPE_HEADER_BYTES));
  envelope.set(sealer.tag(), ENVELOPE_HEADER_BYTES + plain.length);
  return envelope;
}

/**
 * Returns the contents of an envelope, which must be all of `envelope`.
 * @throws CorruptDataError if it was not made with this key, or was changed
 */
export function openEnvelope(key: EnvelopeKey, envelope: Uint8Array): Buffer {
  const opener = new EnvelopeOpener(key, envelope);
  const plain = Buffer.allocUnsafeSlow(opener.leftBytes);
  opener.decrypt(plain);
  opener.verify();
  return plain;
}

/** Encrypts the contents of one envelope piece by piece. */
export class EnvelopeSealer {
  readonly header: Buffer;
  readonly #cipher: CipherGCM;

  constructor({ epoch, secret, repositoryId }: EnvelopeKey, plainBytes: number) {
    this.header = Buffer.alloc(ENVELOPE_HEADER_BYTES);
    this.header.write(MAGIC, 'latin1');
    this.header.writeUInt32LE(plainBytes, LENGTH_OFFSET);
    this.header.writeUInt16LE(epoch, EPOCH_OFFSET);
    const nonce = randomBytes(NONCE_BYTES);
    this.header.set(nonce, NONCE_OFFSET);
    this.#cipher = createCipheriv(ALGORITHM, secret as KeyObject, nonce);
    this.#cipher.setAAD(associatedData(this.header, repositoryId));
  }

  /** Writes the ciphertext of `plain` to `target`, which may be the same memory. */
  encrypt(plain: Uint8Array, target: Uint8Array): void {
    transform(this.#cipher, plain, target);
  }

  /** Call this once, after everything is encrypted. */
  tag(): Buffer {
    this.#cipher.final();
    return this.#cipher.getAuthTag();
  }
}

/** Decrypts the contents of one envelope piece by piece. Nothing of it may be relied on before `verify`. */
export class EnvelopeOpener {
  readonly #decipher: DecipherGCM;
  /** The ciphertext that is not decrypted yet. */
  #left: Uint8Array;

  /** @throws CorruptDataError if it is no envelope of this key */
  constructor({ epoch, secret, repositoryId }: EnvelopeKey, envelope: Uint8Array) {
    if (epochOfEnvelope(envelope) !== epoch) throw new CorruptDataError('it is encrypted with another key');
    if (sizeOfEnvelope(envelope) !== envelope.length) throw new CorruptDataError('its encrypted part has a wrong size');
    const tagOffset = envelope.length - TAG_BYTES;
    const nonce = envelope.subarray(NONCE_OFFSET, ENVELOPE_HEADER_BYTES);
    this.#decipher = createDecipheriv(ALGORITHM, secret as KeyObject, nonce);
    this.#decipher.setAAD(associatedData(envelope, repositoryId));
    this.#decipher.setAuthTag(envelope.subarray(tagOffset));
    this.#left = envelope.subarray(ENVELOPE_HEADER_BYTES, tagOffset);
  }

  get leftBytes(): number {
    return this.#left.length;
  }

  /** Decrypts as many bytes as fit into `target`, which may be the memory of the same ciphertext. */
  decrypt(target: Uint8Array): void {
    const sizeBytes = target.length;
    if (sizeBytes > this.#left.length) throw new CorruptDataError('its encrypted part is too short');
    transform(this.#decipher, this.#left.subarray(0, sizeBytes), target);
    this.#left = this.#left.subarray(sizeBytes);
  }

  /** @throws CorruptDataError unless all of the envelope was decrypted and is what was sealed */
  verify(): void {
    try {
      if (this.#left.length === 0) return void this.#decipher.final();
    } catch {
      // Reported below.
    }
    throw new CorruptDataError('its encrypted content was changed, or belongs elsewhere');
  }
}

/** The counter of the first bytes of a ciphertext (NIST SP 800-38D, 7.1). */
const FIRST_COUNTER = 2;
const COUNTER_BYTES = 4;
const CIPHER_BLOCK_BYTES = 16;

/**
 * Decrypts a part of the ciphertext of an envelope where it is. Nothing verifies it, so the caller must know what it has
 * to be: the id of a chunk is a keyed hash.
 * @param header - the first bytes of the envelope
 * @param offset - of `part` in the ciphertext
 */
export function decryptPart({ secret }: EnvelopeKey, header: Uint8Array, offset: number, part: Uint8Array): void {
  const counter = Buffer.alloc(NONCE_BYTES + COUNTER_BYTES);
  counter.set(header.subarray(NONCE_OFFSET, ENVELOPE_HEADER_BYTES));
  counter.writeUInt32BE(FIRST_COUNTER + Math.floor(offset / CIPHER_BLOCK_BYTES), NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-ctr', secret as KeyObject, counter);
  decipher.update(Buffer.alloc(offset % CIPHER_BLOCK_BYTES));
  transform(decipher, part, part);
}

function transform(cipher: Pick<Cipher, 'update'>, source: Uint8Array, target: Uint8Array): void {
  for (let offset = 0; offset < source.length; offset += PIECE_BYTES) {
    target.set(cipher.update(source.subarray(offset, offset + PIECE_BYTES)), offset);
  }
}

function associatedData(header: Uint8Array, repositoryId: Uint8Array): Buffer {
  return Buffer.concat([header.subarray(0, NONCE_OFFSET), repositoryId]);
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
