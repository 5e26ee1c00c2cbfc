import { statSync } from 'node:fs';
import { CorruptDataError, NoPasswordError, RefusedError, UsageError } from '../../core/errors.ts';
import { readWholeFile } from '../../core/files/target/whole-file.ts';
import { MAX_KEY_FILE_BYTES } from '../../core/format/constants.ts';
import { decodeRealmKey } from '../formats/realm-key.ts';
import type { RealmHeader, RealmKeyFile, RealmSecrets } from '../formats/realm-key.ts';
import type { AskedParameters, RealmFile, RealmParameters } from '../../core/session/extension.ts';
import { openRealmKey } from '../coordination/realm-key-seal.ts';
import { byteStringOf, fsPath, textOf } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { Caller } from '../../core/session/caller.ts';
import { withPassword } from '../../core/session/unlock.ts';
import type { Unlocking } from '../../core/session/unlock.ts';

const OTHERS_READ = 0o044;

/**
 * Reads what a new repository of a realm must have in common with the others. Asks for the password of the realm key
 * file only if the repository may be a member.
 * @throws UsageError if the options choose something of that too
 * @throws RefusedError if the realm is for encrypted repositories and this one is not, or the other way round
 */
export async function readRealmParameters(
  context: Unlocking,
  { chunker, chunkHash, copyParametersFrom, encryption = 'if-configured' }: AskedParameters,
  realm: RealmFile,
): Promise<RealmParameters> {
  if ((chunker ?? chunkHash ?? copyParametersFrom) !== undefined) {
    throw new UsageError('a realm excludes a chunker, a chunk hash, and the parameters of another repository', {
      hint: 'All repositories of a realm have the chunker and the chunk hash that its key file says.',
    });
  }
  const { header, open } = readRealmKey(context, realm);
  const isEncrypted = encryption === 'always' || (encryption !== 'never' && context.password?.isConfigured === true);
  assertSameEncryption(header, isEncrypted);
  const keys = await open();
  return { realmId: header.realmId, chunker: header.chunker, chunkHash: header.chunkHash, keys };
}

function assertSameEncryption(realm: RealmHeader, isEncrypted: boolean): void {
  if (realm.isEncrypted === isEncrypted) return;
  if (isEncrypted) {
    throw new RefusedError('the realm is for repositories that are not encrypted: all of them show its keys', {
      advice: { code: 'choose-plain-realm' },
    });
  }
  throw new RefusedError(
    'the realm is for encrypted repositories: an unencrypted one would reveal its keys to anyone who can read it',
    { advice: { code: 'choose-encrypted-realm' } },
  );
}

/**
 * Reads the header of a realm key file. `open` returns its keys, and asks for the password if they are sealed.
 * @throws SourceError if the file cannot be read
 * @throws CorruptDataError if it is no realm key file, or is damaged
 */
function readRealmKey(
  caller: Caller,
  { file, password }: RealmFile,
): { readonly header: RealmHeader; readonly open: () => Promise<RealmSecrets> } {
  const path = byteStringOf(file);
  const key = decode(readWholeFile(path, { maxBytes: MAX_KEY_FILE_BYTES }), textOf(path));
  const { header } = key;
  if (key.secrets !== undefined) {
    const { secrets } = key;
    warnIfReadable(caller, path);
    return { header, open: async () => secrets };
  }
  const open = async (): Promise<RealmSecrets> => {
    if (password === undefined) {
      throw new NoPasswordError(`the keys in ${textOf(path)} are sealed, and no password was given`, {
        advice: { code: 'give-realm-password' },
      });
    }
    return await withPassword({ ...caller, password }, async (given) => openRealmKey(key, given));
  };
  return { header, open };
}

function decode(bytes: Uint8Array, what: string): RealmKeyFile {
  try {
    return decodeRealmKey(bytes, what);
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    throw new CorruptDataError(error.message, {
      hint: 'Name a realm key file, or another copy of this one.',
      cause: error,
    });
  }
}

/** As for a password file: who can read the keys can find out which known files the members have. */
function warnIfReadable({ onNotice }: Caller, path: ByteString): void {
  const { mode } = statSync(fsPath(path));
  if ((mode & OTHERS_READ) !== 0) onNotice?.({ kind: 'realm-file-readable', path, mode: mode & 0o777 });
}
