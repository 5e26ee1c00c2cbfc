import type { OperationContext } from '../../src/core/session/context.ts';
import type { PasswordSource } from '../../src/core/session/unlock.ts';
import { Unlocker } from '../../src/core/repository/keys/unlocker.ts';
import type { Unlock } from '../../src/core/repository/keys/unlocker.ts';

export const TEST_PASSWORD_TEXT = 'correct horse';

/** One for all contexts, so that the hash of the password is computed once for each repository. */
export const TEST_PASSWORD: PasswordSource = {
  isConfigured: true,
  read: async () => Buffer.from(TEST_PASSWORD_TEXT),
  readNew: async () => Buffer.from(TEST_PASSWORD_TEXT),
};

/** With LDM_TEST_ENCRYPTED=1, the repositories of most tests are encrypted. */
export const isEncryptedRun: boolean = process.env['LDM_TEST_ENCRYPTED'] === '1';

export const encryption: Pick<OperationContext, 'password'> = isEncryptedRun ? { password: TEST_PASSWORD } : {};

/** For what opens a `Repository` itself. */
export const unlockOfTests: Unlock | undefined = isEncryptedRun
  ? new Unlocker(async (use) => use(await TEST_PASSWORD.read()), {}).unlock
  : undefined;

/** How many of the last operations may not take place in every run: names in encrypted repositories are not repeatable. */
export const UNREPEATABLE_OPERATIONS: number = isEncryptedRun ? 12 : 0;

/** A configured source of a password. Its key derivation is paid once for each repository and each source. */
export function testPassword(text: string): PasswordSource {
  const read = async (): Promise<Uint8Array> => Buffer.from(text);
  return { isConfigured: true, read, readNew: read };
}
