import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import type { KeyObject } from 'node:crypto';

const KEY_BYTES = 32;
/** Bytes of a message authentication code. */
const MAC_BYTES = 32;
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * The keys of a realm, which all its members can derive: HKDF-SHA-256 (RFC 5869) of the key of the chunk ids, with the id
 * of the realm as the salt. Only who has the realm's key file, or the configuration of a member, has them.
 */
export class RealmKeys {
  /** A `KeyObject`. It authenticates what members write for each other. */
  readonly #records: object;
  /** A `KeyObject`. It seals what only members may read. */
  readonly #files: object;
  readonly #agents: Buffer;

  /** Both in hex, 64 digits. */
  constructor(idKey: string, realmId: string) {
    const derive = (label: string): Buffer =>
      Buffer.from(hkdfSync('sha256', Buffer.from(idKey, 'hex'), Buffer.from(realmId, 'hex'), label, KEY_BYTES));
    this.#records = createSecretKey(derive('ldm records'));
    this.#files = createSecretKey(derive('ldm files of domains'));
    this.#agents = derive('ldm agents');
  }

  /**
   * The token with which members ask the agent of a domain, in hex. Each agent has its own, so that one that is announced
   * falsely, or whose token is found in its memory, opens no other.
   */
  agentTokenOf(domainId: string): string {
    return createHmac('sha256', this.#agents).update(Buffer.from(domainId, 'hex')).digest('hex');
  }

  /** HMAC-SHA-256 (RFC 2104) of the parts, 32 bytes. */
  mac(...parts: readonly Uint8Array[]): Buffer {
    const hmac = createHmac('sha256', this.#records as KeyObject);
    for (const part of parts) hmac.update(part);
    return hmac.digest();
  }

  verifies(mac: Uint8Array, ...parts: readonly Uint8Array[]): boolean {
    return mac.length === MAC_BYTES && timingSafeEqual(mac, this.mac(...parts));
  }

  /** Encrypts a file with AES-256-GCM: nonce, ciphertext, tag. It can only be opened with the same binding. */
  seal(bytes: Uint8Array, binding: Uint8Array): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#files as KeyObject, nonce).setAAD(binding);
    return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  }

  /** Undefined: no member has sealed this with the binding, or it is damaged. */
  open(sealed: Uint8Array, binding: Uint8Array): Buffer | undefined {
    if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
    const end = sealed.length - TAG_BYTES;
    const key = this.#files as KeyObject;
    const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(binding).setAuthTag(sealed.subarray(end));
    const bytes = decipher.update(sealed.subarray(NONCE_BYTES, end));
    try {
      return Buffer.concat([bytes, decipher.final()]);
    } catch {
      return undefined;
    }
  }
}
