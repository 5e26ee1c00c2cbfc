import { CorruptDataError, UnsupportedFormatError, WrongPasswordError, isDenied } from '../../errors.ts';
import type { LdmError } from '../../errors.ts';
import { KEYS_DIRECTORY } from '../../format/layout.ts';

/** What is wrong if no key file can be used. `errors`: why each cannot be; none if there is no file. */
export function noUsableKey(errors: readonly LdmError[]): LdmError {
  const unsupported = errors.find((error) => error instanceof UnsupportedFormatError);
  if (unsupported !== undefined) return unsupported;
  if (errors.length === 0) return noKeyFile();
  const refused = errors.find((error) => isDenied(error));
  if (refused !== undefined) return refused;
  return new CorruptDataError(`the repository is encrypted, but no key file can be used: ${errors[0]!.message}`, {
    advice: { code: 'import-key' },
  });
}

function noKeyFile(): LdmError {
  return new CorruptDataError(`the repository is encrypted, but ${KEYS_DIRECTORY}/ has no key file`, {
    advice: { code: 'list-or-import-key' },
  });
}

export function wrongPassword(usableCount: number, unusableCount: number): WrongPasswordError {
  const keys = usableCount === 1 ? 'the only key' : `none of the ${usableCount} keys`;
  const damaged = unusableCount === 0 ? '' : ` (another ${unusableCount} cannot be used)`;
  const verb = usableCount === 1 ? 'does not open' : 'opens';
  return new WrongPasswordError(`wrong password: it ${verb} ${keys} of the repository${damaged}`, {
    advice: { code: 'give-other-password' },
  });
}
