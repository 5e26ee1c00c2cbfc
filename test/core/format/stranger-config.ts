import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { argon2id } from 'hash-wasm';
import { demand, sha256 } from './stranger-bytes.ts';
import { decrypt, encrypt, openEnvelope, sealEnvelope } from './stranger-crypto.ts';
import type { StrangerKeys } from './stranger-crypto.ts';

/** docs/format.md, "Configuration" and "Key files". */

export type Json = Readonly<Record<string, unknown>>;

export interface StrangerConfig {
  readonly required_features: readonly string[];
  readonly repository_id: string;
  readonly chunk_hash: 'sha1' | 'sha256';
  readonly id_key: string;
  readonly chunker_key?: string;
  readonly earlier_keys?: readonly { readonly epoch: number; readonly key: string }[];
  readonly ldm: { readonly fpr_target: number; readonly hashes: number };
}

interface KeyMembers {
  readonly format_version: number;
  readonly repository_id: string;
  readonly key_epoch: number;
  readonly kdf: Kdf;
  readonly salt: string;
}

interface Kdf {
  readonly algorithm: string;
  readonly memory_kib: number;
  readonly passes: number;
  readonly lanes: number;
}

/** The cheapest one within the limits. */
export const CHEAP_KDF: Kdf = { algorithm: 'argon2id', memory_kib: 8192, passes: 8, lanes: 1 };

/** The members of an object with a checksum, without it. */
export function parseChecked(bytes: Uint8Array): Json {
  demand(bytes.at(-1) === 0x0a, 'the last line feed is missing');
  const { checksum, ...members } = JSON.parse(Buffer.from(bytes).toString('utf8')) as Json;
  demand(checksum === sha256(JSON.stringify(members)), 'wrong checksum');
  return members;
}

export function writeChecked(members: Json): Buffer {
  return Buffer.from(`${JSON.stringify({ ...members, checksum: sha256(JSON.stringify(members)) })}\n`);
}

async function wrappingKey(password: string, { kdf, salt }: Pick<KeyMembers, 'kdf' | 'salt'>): Promise<Uint8Array> {
  const { algorithm, memory_kib: memoryKib, passes, lanes } = kdf;
  const costKib = memoryKib * passes;
  demand(algorithm === 'argon2id', 'an unknown algorithm');
  demand(memoryKib >= 8192 && memoryKib <= 1_048_576 && passes >= 1 && passes <= 64, 'limits are exceeded');
  demand(lanes >= 1 && lanes <= 16 && costKib >= 65_536 && costKib <= 8_388_608, 'limits are exceeded');
  return await argon2id({
    password,
    salt: Buffer.from(salt, 'hex'),
    memorySize: memoryKib,
    iterations: passes,
    parallelism: lanes,
    hashLength: 32,
    outputType: 'binary',
  });
}

/** Returns the master key in a key file. */
export async function openKeyFile(
  bytes: Uint8Array,
  password: string,
): Promise<{ readonly repositoryId: string; readonly epoch: number; readonly masterKey: Buffer }> {
  const members = Object.entries(parseChecked(bytes));
  const index = members.findIndex(([name]) => name === 'sealed');
  demand(index >= 0, 'there is no sealed key');
  const before = Object.fromEntries(members.slice(0, index)) as unknown as KeyMembers;
  demand(before.format_version === 1, 'an unknown version');
  const sealed = Buffer.from(String(members[index]![1]), 'hex');
  demand(sealed.length === 60, 'the sealed key has a wrong length');
  const key = await wrappingKey(password, before);
  const associated = Buffer.from(JSON.stringify(before));
  const masterKey = decrypt(key, sealed.subarray(0, 12), associated, sealed.subarray(12));
  return { repositoryId: before.repository_id, epoch: before.key_epoch, masterKey };
}

/** Writes a key file. `members` are those before the salt. */
export async function makeKeyFile(
  members: Json & { readonly kdf: Kdf },
  { password, masterKey }: { readonly password: string; readonly masterKey: Uint8Array },
): Promise<Buffer> {
  const before = { ...members, salt: randomBytes(32).toString('hex') };
  const nonce = randomBytes(12);
  const key = await wrappingKey(password, before);
  const sealed = encrypt(key, nonce, Buffer.from(JSON.stringify(before)), masterKey);
  return writeChecked({ ...before, sealed: Buffer.concat([nonce, sealed]).toString('hex') });
}

const HEAD = ['format_version', 'required_features', 'repository_id'] as const;

function headOf(members: Json): Json {
  return Object.fromEntries(HEAD.map((name) => [name, members[name]]));
}

/** Opens a configuration. Returns its members, and the keys with the earlier ones among them. */
export function openConfig(
  bytes: Uint8Array,
  keys: StrangerKeys,
): { readonly config: StrangerConfig & Json; readonly keys: StrangerKeys } {
  const outer = parseChecked(bytes);
  demand(outer['format_version'] === 1, 'an unknown version');
  demand((outer['required_features'] as string[]).includes('encryption'), 'it is not encrypted');
  const envelope = Buffer.from(String(outer['sealed']), 'base64');
  const config = JSON.parse(openEnvelope(keys, 'config', envelope).toString('utf8')) as StrangerConfig & Json;
  demand(isDeepStrictEqual(headOf(config), headOf(outer)), 'the readable members differ');
  const earlier = config.earlier_keys!.map(({ epoch, key }) => [epoch, Buffer.from(key, 'hex')] as const);
  return { config, keys: { ...keys, masterKeys: new Map([...earlier, ...keys.masterKeys]) } };
}

export function makeConfig(config: Json, keys: StrangerKeys): Buffer {
  const sealed = sealEnvelope(keys, 'config', Buffer.from(JSON.stringify(config)));
  return writeChecked({ ...headOf(config), sealed: sealed.toString('base64') });
}
