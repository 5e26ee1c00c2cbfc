import { hashRawSync } from '@node-rs/argon2';
import { keepMasterKey } from '../../src/core/crypto/master-key.ts';
import { openKey } from '../../src/core/crypto/sealed-key.ts';
import { KeyRing } from '../../src/core/crypto/seals.ts';
import { decodeKeyFile } from '../../src/core/format/key-file.ts';
import { openPackEnd } from '../../src/core/store/pack-end.ts';
import { TEST_PASSWORD_TEXT } from './test-password.ts';

/** By repository id. */
const keyRings = new Map<string, KeyRing>();

const MAGIC = 'LDMXEND1';
const KIND_OFFSET = 12;

/** Returns the kind of the chunks in a pack of a repository that may be encrypted. `keyFile`: its first key file. */
export function kindOfPack(pack: Buffer, keyFile: Buffer | undefined): 'data' | 'tree' | undefined {
  if (keyFile === undefined) return pack[KIND_OFFSET] === 1 ? 'data' : 'tree';
  // A damaged pack has no kind.
  if (pack.subarray(-MAGIC.length).toString('latin1') !== MAGIC) return undefined;
  const endBytes = 16 + pack.readUInt32LE(pack.length - 16);
  return openPackEnd(pack.subarray(-endBytes), keyRingOf(keyFile)).kind;
}

function keyRingOf(bytes: Buffer): KeyRing {
  const { header, associatedData, sealed } = decodeKeyFile(bytes);
  const known = keyRings.get(header.repositoryId);
  if (known !== undefined) return known;
  const { memoryKib, passes, lanes } = header.kdf;
  const cost = { memoryCost: memoryKib, timeCost: passes, parallelism: lanes, outputLen: 32 };
  const wrappingKey = hashRawSync(TEST_PASSWORD_TEXT, { salt: Buffer.from(header.salt, 'hex'), ...cost });
  const masterKey = { epoch: header.keyEpoch, bytes: openKey(wrappingKey, sealed, associatedData)! };
  const keyRing = new KeyRing(header.repositoryId, [keepMasterKey(masterKey)]);
  keyRings.set(header.repositoryId, keyRing);
  return keyRing;
}
