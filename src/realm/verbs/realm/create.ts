import { assertOptions } from '../../../core/session/arguments.ts';
import { randomBytes } from 'node:crypto';
import { DEFAULT_CHUNKER } from '../../../core/chunking/chunker.ts';
import type { ChunkerParameters } from '../../../core/chunking/chunker.ts';
import { createChunker } from '../../../core/chunking/create-chunker.ts';
import { UsageError } from '../../../core/errors.ts';
import { assertReplaceable, createSecretFile } from '../../../core/files/target/replace-file.ts';
import { MAX_KEY_TEXT_LENGTH } from '../../../core/format/constants.ts';
import { encodeRealmKey } from '../../formats/realm-key.ts';
import type { RealmHeader } from '../../formats/realm-key.ts';
import { sealRealmKey } from '../../coordination/realm-key-seal.ts';
import { byteStringOf } from '../../../core/util/byte-string.ts';
import type { PathInput } from '../../../core/util/byte-string.ts';
import type { PasswordSource } from '../../../core/session/unlock.ts';
import { withNewPassword } from '../../../core/session/unlock.ts';

export interface CreateRealmOptions {
  /** The realm key file, which must not exist. */
  readonly file: PathInput;
  /** A text for people, of at most 255 characters. */
  readonly name?: string | undefined;
  /** Whether the realm is for encrypted repositories. Default: true. */
  readonly isEncrypted?: boolean | undefined;
  readonly chunker?: ChunkerParameters | undefined;
  readonly chunkHash?: 'sha1' | 'sha256' | undefined;
  /** Seals the keys in the file under a new password. By default the keys are stored in plain text. */
  readonly newPassword?: PasswordSource | undefined;
}

/** A realm, without its keys. `realmId`: 64 hex digits. `created`: RFC 3339, UTC. */
export interface CreatedRealm extends RealmHeader {
  /** Whether the keys are sealed under a password. */
  readonly isSealed: boolean;
}

/**
 * Creates a realm: keys and chunker parameters that several repositories share, so that each of them gives the same data
 * the same chunk ids. Writes them to a new file that only its owner may read, durably. Opens no repository.
 * @throws UsageError if a parameter is invalid
 * @throws TargetError if the file exists or cannot be written
 */
export async function createRealm(options: CreateRealmOptions): Promise<CreatedRealm> {
  assertOptions<CreateRealmOptions>('options', options, {
    file: 'path!',
    name: 'text',
    isEncrypted: 'flag',
    chunker: 'object',
    chunkHash: ['sha1', 'sha256'],
    newPassword: 'password',
  });
  const { name, isEncrypted = true, chunker = DEFAULT_CHUNKER, chunkHash = 'sha1', newPassword } = options;
  const path = byteStringOf(options.file);
  createChunker(chunker);
  if (name !== undefined && name.length > MAX_KEY_TEXT_LENGTH) {
    throw new UsageError('the name of the realm is too long', {
      hint: `Give at most ${MAX_KEY_TEXT_LENGTH} characters.`,
    });
  }
  // Before a password is typed.
  assertReplaceable(path);
  const header = { realmId: newKey(), created: new Date().toISOString(), name, isEncrypted, chunker, chunkHash };
  const secrets = { idKey: newKey(), chunkerKey: isEncrypted ? newKey() : undefined };
  const bytes =
    newPassword === undefined
      ? encodeRealmKey(header, secrets)
      : await withNewPassword(newPassword, async (password) => sealRealmKey(header, secrets, password));
  createSecretFile(path, bytes);
  bytes.fill(0);
  return { ...header, isSealed: newPassword !== undefined };
}

function newKey(): string {
  return randomBytes(32).toString('hex');
}
