import type { RealmFile } from '../session/extension.ts';
import { RefusedError, UsageError } from '../errors.ts';
import type { RealmHeader, RealmSecrets } from '../session/extension.ts';
import type { OperationContext } from '../session/context.ts';
import { extension } from '../session/extension.ts';

/** What a new repository takes from a realm. */
export type RealmParameters = Pick<RealmHeader, 'realmId' | 'chunker' | 'chunkHash'> & { readonly keys: RealmSecrets };

/** What the options of a new repository choose. */
interface AskedParameters {
  readonly chunker?: unknown;
  readonly chunkHash?: unknown;
  readonly copyParametersFrom?: unknown;
  readonly encryption?: 'always' | 'never' | 'if-configured';
}

/**
 * Reads what a new repository of a realm must have in common with the others. Asks for the password of the realm key
 * file only if the repository may be a member.
 * @throws UsageError if the options choose something of that too
 * @throws RefusedError if the realm is for encrypted repositories and this one is not, or the other way round
 */
export async function readRealmParameters(
  context: OperationContext,
  { chunker, chunkHash, copyParametersFrom, encryption = 'if-configured' }: AskedParameters,
  realm: RealmFile,
): Promise<RealmParameters> {
  if ((chunker ?? chunkHash ?? copyParametersFrom) !== undefined) {
    throw new UsageError('a realm excludes a chunker, a chunk hash, and the parameters of another repository', {
      hint: 'All repositories of a realm have the chunker and the chunk hash that its key file says.',
    });
  }
  const { header, open } = await extension().readRealmKey(context, realm);
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
