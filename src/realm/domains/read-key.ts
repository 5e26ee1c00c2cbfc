import type { RealmFile } from '../../core/session/extension.ts';
import { statSync } from 'node:fs';
import { CorruptDataError, NoPasswordError } from '../../core/errors.ts';
import { readWholeFile } from '../../core/files/target/whole-file.ts';
import { MAX_KEY_FILE_BYTES } from '../../core/format/constants.ts';
import { decodeRealmKey } from '../formats/realm-key.ts';
import type { RealmKeyFile } from '../formats/realm-key.ts';
import type { RealmHeader, RealmSecrets } from '../../core/session/extension.ts';
import { openRealmKey } from '../coordination/realm-key-seal.ts';
import { byteStringOf, fsPath, textOf } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { withPassword } from '../../core/session/unlock.ts';

const OTHERS_READ = 0o044;

/**
 * Reads the header of a realm key file. `open` returns its keys, and asks for the password if they are sealed.
 * @throws SourceError if the file cannot be read
 * @throws CorruptDataError if it is no realm key file, or is damaged
 */
export function readRealmKey(
  context: OperationContext,
  { file, password }: RealmFile,
): { readonly header: RealmHeader; readonly open: () => Promise<RealmSecrets> } {
  const path = byteStringOf(file);
  const key = decode(readWholeFile(path, { maxBytes: MAX_KEY_FILE_BYTES }), textOf(path));
  const { header } = key;
  if (key.secrets !== undefined) {
    const { secrets } = key;
    warnIfReadable(context, path);
    return { header, open: async () => secrets };
  }
  const open = async (): Promise<RealmSecrets> => {
    if (password === undefined) {
      throw new NoPasswordError(`the keys in ${textOf(path)} are sealed, and no password was given`, {
        advice: { code: 'give-realm-password' },
      });
    }
    return await withPassword({ ...context, password }, async (given) => openRealmKey(key, given));
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
function warnIfReadable({ onNotice }: OperationContext, path: ByteString): void {
  const { mode } = statSync(fsPath(path));
  if ((mode & OTHERS_READ) !== 0) onNotice?.({ kind: 'realm-file-readable', path, mode: mode & 0o777 });
}
