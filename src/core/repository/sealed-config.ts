import type { Backend } from '../backend/backend.ts';
import { keepMasterKey } from '../crypto/master-key.ts';
import type { KeptMasterKey, MasterKey } from '../crypto/master-key.ts';
import { KeyRing } from '../crypto/seals.ts';
import { RefusedError, isDamage } from '../errors.ts';
import { decodeConfig } from '../format/config.ts';
import type { ConfigHead } from '../format/config.ts';
import { configSeals, readConfigCopies } from './config-copies.ts';
import type { ConfigCopy } from './config-copies.ts';

/** What the keys of an encrypted repository need of its configuration. Of two copies, that of the newest epoch counts, and `config` if both have the same. */
export interface SealedConfig {
  /** 64 hex digits. */
  readonly repositoryId: string;
  /** Epoch of the master key that it is sealed under, as its header says. */
  readonly epoch: number;
  /** Returns whether the sealed part of the configuration opens with this master key. */
  opensConfig(masterKey: MasterKey | KeptMasterKey): boolean;
}

/**
 * Reads what can be read of the configuration without a key.
 * @throws RefusedError if the repository is not encrypted
 */
export async function readSealedConfig(backend: Backend): Promise<SealedConfig & { readonly head: ConfigHead }> {
  const { copies } = await readConfigCopies(backend);
  const [{ head }] = copies as [ConfigCopy, ...ConfigCopy[]];
  if (head.isEncrypted) return { ...sealedConfigOf(copies), head };
  throw new RefusedError('the repository is not encrypted, so it has no keys', {
    hint: 'Anybody who can read its files can read what is in it.',
  });
}

/** `copies`: those that can be read, the newest epoch first. */
export function sealedConfigOf(copies: readonly ConfigCopy[]): SealedConfig {
  const { epoch, head } = copies[0]!;
  return {
    repositoryId: head.repositoryId,
    epoch,
    // Not any copy of this epoch: a rotation that was suspended and has lost its lock may replace `config.bak` late, by
    // one that is sealed under another master key of the same epoch.
    opensConfig: (masterKey) => masterKey.epoch === epoch && opens(copies[0]!, masterKey),
  };
}

function opens({ name, bytes, head }: ConfigCopy, masterKey: MasterKey | KeptMasterKey): boolean {
  const kept = 'secret' in masterKey ? masterKey : keepMasterKey({ ...masterKey, bytes: Buffer.from(masterKey.bytes) });
  try {
    decodeConfig(bytes, { seals: configSeals(new KeyRing(head.repositoryId, [kept])), what: name });
    return true;
  } catch (error) {
    if (!isDamage(error)) throw error;
    return false;
  }
}
