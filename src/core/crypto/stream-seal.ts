import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { CorruptDataError } from '../errors.ts';
import { TAG_BYTES } from './envelope.ts';
import type { EnvelopeKey } from './envelope.ts';
import type { KeyRing } from './seals.ts';

/**
 * A file that is too large for one envelope is encrypted in pieces, as in the STREAM construction (Hoang, Reyhanitabar,
 * Rogaway, Vizar, "Online Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance", CRYPTO 2015): a key of its
 * own, and a nonce that consists of the number of the piece and of whether it is the last one. So no piece can be left
 * out, moved or cut off.
 *
 * Header of 48 bytes: magic (8), epoch of the key (u16), six zeros, salt (32). Each piece is AES-256-GCM of 1 MiB, the
 * last one of fewer bytes, and its tag. docs/format.md specifies it.
 */
const MAGIC = Buffer.from('LDMXSTR1', 'latin1');
const EPOCH_OFFSET = 8;
const SALT_OFFSET = 16;
const HEADER_BYTES = 48;
const SALT_BYTES = HEADER_BYTES - SALT_OFFSET;
const PIECE_BYTES: number = 1024 * 1024;
const NONCE_BYTES = 12;
const COUNTER_OFFSET = 7;
const LAST_OFFSET = 11;
const ALGORITHM = 'aes-256-gcm';

type Append = (bytes: Uint8Array) => Promise<void>;

/** Encrypts a file of any length that is written from the beginning to the end. */
class StreamSealer {
  readonly #key: StreamKey;
  readonly #append: Append;
  readonly #piece: Buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);
  #filled = 0;
  #index = 0;

  /** `append` writes the encrypted bytes. */
  constructor(key: EnvelopeKey, append: Append) {
    const header = Buffer.alloc(HEADER_BYTES);
    header.set(MAGIC);
    header.writeUInt16LE(key.epoch, EPOCH_OFFSET);
    header.set(randomBytes(SALT_BYTES), SALT_OFFSET);
    this.#key = streamKeyOf(key, header);
    this.#append = append;
  }

  async append(bytes: Uint8Array): Promise<void> {
    for (let offset = 0; offset < bytes.length;) {
      // A full piece is written when more follows, since the last one is marked.
      if (this.#filled === PIECE_BYTES) await this.#write(false);
      const part = bytes.subarray(offset, offset + PIECE_BYTES - this.#filled);
      this.#piece.set(part, this.#filled);
      this.#filled += part.length;
      offset += part.length;
    }
  }

  /** Writes what is left. The file is incomplete without this. */
  async end(): Promise<void> {
    await this.#write(true);
  }

  async #write(isLast: boolean): Promise<void> {
    const { header, secret, repositoryId } = this.#key;
    if (this.#index === 0) await this.#append(header);
    const cipher = createCipheriv(ALGORITHM, secret, nonceOf(this.#index, isLast));
    cipher.setAAD(Buffer.concat([header, repositoryId]));
    const sealed = cipher.update(this.#piece.subarray(0, this.#filled));
    cipher.final();
    await this.#append(sealed);
    await this.#append(cipher.getAuthTag());
    this.#index += 1;
    this.#filled = 0;
  }
}

/** Where an encrypted file is read; `readRange` fills `target` completely from `offset`. */
export interface StreamSource {
  readonly sizeBytes: number;
  readRange(offset: number, target: Uint8Array): Promise<void>;
}

/** Reads a file that `StreamSealer` wrote. Implements `StreamSource` for its contents; forward reads are fast. */
class StreamOpener implements StreamSource {
  readonly sizeBytes: number;
  readonly #source: StreamSource;
  readonly #key: StreamKey;
  readonly #lastIndex: number;
  #index = -1;
  #piece: Uint8Array = Buffer.alloc(0);

  private constructor(source: StreamSource, key: StreamKey) {
    const sealedBytes = source.sizeBytes - HEADER_BYTES;
    this.#lastIndex = Math.ceil(sealedBytes / (PIECE_BYTES + TAG_BYTES)) - 1;
    // A last piece without contents would never be read, so nothing would verify that it is the last one.
    const lastBytes = sealedBytes - this.#lastIndex * (PIECE_BYTES + TAG_BYTES);
    if (lastBytes <= TAG_BYTES) throw new CorruptDataError('it ends too early');
    this.sizeBytes = sealedBytes - (this.#lastIndex + 1) * TAG_BYTES;
    this.#source = source;
    this.#key = key;
  }

  /** @throws CorruptDataError if the file does not begin like one that was encrypted in this way */
  static async open(source: StreamSource, keyOf: (epoch: number) => EnvelopeKey): Promise<StreamOpener> {
    const header = await readStreamHeader(source);
    return new StreamOpener(source, streamKeyOf(keyOf(header.readUInt16LE(EPOCH_OFFSET)), header));
  }

  async readRange(offset: number, target: Uint8Array): Promise<void> {
    for (let done = 0; done < target.length;) {
      const index = Math.floor((offset + done) / PIECE_BYTES);
      if (index !== this.#index) await this.#load(index);
      const start = offset + done - index * PIECE_BYTES;
      const part = this.#piece.subarray(start, start + target.length - done);
      if (part.length === 0) throw new CorruptDataError('it ends too early');
      target.set(part, done);
      done += part.length;
    }
  }

  async #load(index: number): Promise<void> {
    if (index > this.#lastIndex) throw new CorruptDataError('it ends too early');
    const { header, secret, repositoryId } = this.#key;
    const offset = HEADER_BYTES + index * (PIECE_BYTES + TAG_BYTES);
    const sealed = Buffer.allocUnsafe(Math.min(PIECE_BYTES + TAG_BYTES, this.#source.sizeBytes - offset));
    await this.#source.readRange(offset, sealed);
    const decipher = createDecipheriv(ALGORITHM, secret, nonceOf(index, index === this.#lastIndex));
    decipher.setAAD(Buffer.concat([header, repositoryId]));
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    const piece = decipher.update(sealed.subarray(0, -TAG_BYTES));
    try {
      decipher.final();
    } catch {
      throw new CorruptDataError('its encrypted content was changed, or belongs elsewhere');
    }
    this.#piece = piece;
    this.#index = index;
  }
}

/** Writes the encrypted form of what `write` writes, or the same bytes in a plain repository. */
export async function sealStream(
  keys: KeyRing | undefined,
  append: Append,
  write: (append: Append) => Promise<unknown>,
): Promise<void> {
  if (keys === undefined) return void (await write(append));
  const sealer = new StreamSealer(keys.keyOf('filter'), append);
  await write(async (bytes) => sealer.append(bytes));
  await sealer.end();
}

/** Returns a source for the contents of an encrypted file, or the same source in a plain repository. */
export async function openStream(source: StreamSource, keys: KeyRing | undefined): Promise<StreamSource> {
  return keys === undefined ? source : await StreamOpener.open(source, (epoch) => keys.keyOf('filter', epoch));
}

interface StreamKey {
  readonly header: Uint8Array;
  readonly secret: KeyObject;
  readonly repositoryId: Uint8Array;
}

/** The key of one file: HKDF-SHA-256 (RFC 5869) of the key for such files with the salt of the file. */
function streamKeyOf({ secret, repositoryId }: EnvelopeKey, header: Uint8Array): StreamKey {
  const bytes = Buffer.from(hkdfSync('sha256', secret as KeyObject, header.subarray(SALT_OFFSET), 'ldm stream', 32));
  const key = { header, secret: createSecretKey(bytes), repositoryId };
  bytes.fill(0);
  return key;
}

function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUInt32LE(index, COUNTER_OFFSET);
  nonce[LAST_OFFSET] = isLast ? 1 : 0;
  return nonce;
}

/** @throws CorruptDataError if the file does not begin like one that was encrypted in this way; needs no key */
export async function readStreamHeader(source: StreamSource): Promise<Buffer> {
  if (source.sizeBytes <= HEADER_BYTES + TAG_BYTES) throw new CorruptDataError('it is too short to be encrypted');
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  await source.readRange(0, header);
  if (!header.subarray(0, MAGIC.length).equals(MAGIC)) throw new CorruptDataError('it is not encrypted');
  return header;
}
