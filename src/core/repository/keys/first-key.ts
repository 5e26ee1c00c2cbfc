import { createMasterKey, deriveKey, keepMasterKey } from '../../crypto/master-key.ts';
import type { KeptMasterKey, KeyLabel } from '../../crypto/master-key.ts';
import { KeyRing, PLAIN } from '../../crypto/seals.ts';
import type { Seals } from '../../crypto/seals.ts';
import type { RepositoryConfig } from '../../format/config.ts';
import { sealNewKey } from './key-changes.ts';

/** The keys of another repository, in hex, for one that is to have the same chunks. A plain one has no key of its chunker. */
export interface SharedKeys {
  readonly idKey: string;
  readonly chunkerKey: string | undefined;
}

/** What a new repository is written with. `key`: the key file of an encrypted one. */
export interface FirstKey {
  readonly config: RepositoryConfig;
  readonly seals: Seals;
  readonly key: { readonly id: string; readonly bytes: Uint8Array } | undefined;
}

/** Creates the master key, and seals it under the password, if there is one. */
export async function createFirstKey(
  { config, sharedKeys }: { readonly config: RepositoryConfig; readonly sharedKeys?: SharedKeys | undefined },
  password: Uint8Array | undefined,
): Promise<FirstKey> {
  if (password === undefined) return { config, seals: PLAIN, key: undefined };
  const { repositoryId, created } = config;
  const masterKey = createMasterKey(1);
  const key = await sealNewKey({ repositoryId, masterKey, password, role: 'full', created });
  const kept = keepMasterKey(masterKey);
  const idKey = sharedKeys?.idKey ?? hexKeyOf(kept, repositoryId, 'data ids');
  const chunkerKey = sharedKeys?.chunkerKey ?? hexKeyOf(kept, repositoryId, 'chunker');
  const encryption = { chunkerKey, earlierKeys: [] };
  return { config: { ...config, idKey, encryption }, seals: new KeyRing(repositoryId, [kept]), key };
}

function hexKeyOf(masterKey: KeptMasterKey, repositoryId: string, label: KeyLabel): string {
  const key = deriveKey(masterKey, Buffer.from(repositoryId, 'hex'), label);
  const hex = key.toString('hex');
  key.fill(0);
  return hex;
}
