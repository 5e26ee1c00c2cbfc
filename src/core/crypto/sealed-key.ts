import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Seals a key under another one of 32 bytes: nonce (12 random bytes), ciphertext, tag (16 bytes). */
export function sealKey(wrappingKey: Uint8Array, key: Uint8Array, associatedData: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, wrappingKey, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(associatedData);
  return Buffer.concat([nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()]);
}

/** Opens what `sealKey` made. Returns undefined if the wrapping key is wrong or anything was changed. */
export function openKey(
  wrappingKey: Uint8Array,
  sealed: Uint8Array,
  associatedData: Uint8Array,
): Buffer<ArrayBuffer> | undefined {
  const decipher = createDecipheriv(CIPHER, wrappingKey, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(associatedData);
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  const key = Buffer.from(decipher.update(sealed.subarray(NONCE_BYTES, sealed.length - TAG_BYTES)));
  try {
    decipher.final();
    return key;
  } catch {
    key.fill(0);
    return undefined;
  }
}
