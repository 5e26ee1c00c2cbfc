import { randomBytes } from 'node:crypto';
import { hashPassword, newKdfParameters } from '../../core/crypto/argon2.ts';
import { openKey, sealKey } from '../../core/crypto/sealed-key.ts';
import { WrongPasswordError } from '../../core/errors.ts';
import { KEY_SALT_BYTES } from '../../core/format/constants.ts';
import { encodeSealedRealmKey, packSecrets, realmAssociatedData, unpackSecrets } from '../formats/realm-key.ts';
import type { RealmKeyFile } from '../formats/realm-key.ts';
import type { RealmHeader, RealmSecrets } from '../formats/realm-key.ts';

/** Encodes a realm key file whose keys are sealed under a password: Argon2id and AES-256-GCM, as in key files. */
export async function sealRealmKey(header: RealmHeader, secrets: RealmSecrets, password: Uint8Array): Promise<Buffer> {
  const salt = randomBytes(KEY_SALT_BYTES);
  const seal = { kdf: newKdfParameters(), salt: salt.toString('hex') };
  const wrappingKey = await hashPassword(password, salt, seal.kdf);
  const plain = packSecrets(secrets);
  const sealed = sealKey(wrappingKey, plain, realmAssociatedData(header, seal));
  for (const secret of [wrappingKey, plain]) secret.fill(0);
  return encodeSealedRealmKey(header, seal, sealed);
}

/**
 * Returns the keys of a realm key file that is sealed.
 * @throws WrongPasswordError also if the file was changed
 */
export async function openRealmKey(
  { seal, sealed, associatedData }: Extract<RealmKeyFile, { readonly secrets: undefined }>,
  password: Uint8Array,
): Promise<RealmSecrets> {
  const wrappingKey = await hashPassword(password, Buffer.from(seal.salt, 'hex'), seal.kdf);
  const plain = openKey(wrappingKey, sealed, associatedData);
  wrappingKey.fill(0);
  if (plain === undefined) {
    throw new WrongPasswordError('the password does not open the realm key file', {
      advice: { code: 'give-realm-password' },
    });
  }
  const secrets = unpackSecrets(plain);
  plain.fill(0);
  return secrets;
}
