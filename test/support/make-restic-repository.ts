import { createCipheriv, createHash, randomBytes, scryptSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const RESTIC_PASSWORD = 'x';

/** As restic writes it: each part in base64. */
export interface ResticKey {
  readonly mac: { readonly k: string; readonly r: string };
  readonly encrypt: string;
}

/** With the parameters of `restic init`, every command would take half a second. */
const KDF = { N: 2, r: 8, p: 1 };

/** Creates an empty repository of restic, and returns its master key (restic's "References: Design"). */
export function makeResticRepository(place: string): ResticKey {
  for (const name of ['data', 'index', 'keys', 'locks', 'snapshots']) mkdirSync(join(place, name), { recursive: true });
  const masterKey = keyOver(randomBytes(64));
  const salt = randomBytes(64);
  const passwordKey = keyOver(scryptSync(RESTIC_PASSWORD, salt, 64, KDF));
  const created = '2024-01-01T00:00:00Z';
  const data = seal(passwordKey, masterKey).toString('base64');
  const keyFile = { created, username: '', hostname: '', kdf: 'scrypt', ...KDF, salt: salt.toString('base64'), data };
  putNamed(join(place, 'keys'), Buffer.from(JSON.stringify(keyFile)));
  const config = { version: 1, id: randomBytes(32).toString('hex'), chunker_polynomial: '3da3358b4dc173' };
  writeFileSync(join(place, 'config'), seal(masterKey, config));
  return masterKey;
}

/** Adds an encrypted file, named after its SHA-256. */
export function putSealed(directory: string, key: ResticKey, value: unknown): void {
  putNamed(directory, seal(key, value));
}

function putNamed(directory: string, contents: Buffer): void {
  writeFileSync(join(directory, createHash('sha256').update(contents).digest('hex')), contents);
}

/** `bytes`: 64 bytes, as from scrypt: for the cipher 32, then for the MAC twice 16. */
function keyOver(bytes: Buffer): ResticKey {
  const part = (start: number, end: number): string => bytes.subarray(start, end).toString('base64');
  return { encrypt: part(0, 32), mac: { k: part(32, 48), r: part(48, 64) } };
}

/** AES-256-CTR with Poly1305-AES over the ciphertext (restic's "References: Design"). */
function seal({ mac, encrypt }: ResticKey, value: unknown): Buffer {
  const nonce = randomBytes(16);
  const cipher = createCipheriv('aes-256-ctr', Buffer.from(encrypt, 'base64'), nonce);
  const ciphertext = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()]);
  const mask = createCipheriv('aes-128-ecb', Buffer.from(mac.k, 'base64'), null).setAutoPadding(false).update(nonce);
  return Buffer.concat([nonce, ciphertext, poly1305(ciphertext, Buffer.from(mac.r, 'base64'), mask)]);
}

/** RFC 8439, section 2.5. */
function poly1305(message: Buffer, r: Buffer, s: Buffer): Buffer {
  const prime = 2n ** 130n - 5n;
  const clamped = littleEndian(r) & 0x0ffffffc0ffffffc0ffffffc0fffffffn;
  let sum = 0n;
  for (let start = 0; start < message.length; start += 16) {
    const block = Buffer.concat([message.subarray(start, start + 16), Buffer.of(1)]);
    sum = ((sum + littleEndian(block)) * clamped) % prime;
  }
  const tag = ((sum + littleEndian(s)) % 2n ** 128n).toString(16).padStart(32, '0');
  return Buffer.from(tag, 'hex').reverse();
}

function littleEndian(bytes: Buffer): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
}
