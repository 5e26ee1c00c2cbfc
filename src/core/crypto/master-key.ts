import { createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

const MASTER_KEY_BYTES = 32;

/** One of the master keys of an encrypted repository. */
export interface MasterKey {
  /** 1 for the first, and one more after each rotation. Everything that is sealed names the epoch of its key. */
  readonly epoch: number;
  /** 32 random bytes. */
  readonly bytes: Uint8Array;
}

/** A master key outside of the heap of JavaScript. */
export interface KeptMasterKey {
  readonly epoch: number;
  /** A `KeyObject`, see `ChunkIdKey`. */
  readonly secret: object;
}

/** What keys are derived for. The labels are part of the format: docs/format.md lists them. */
export type KeyLabel =
  | 'data ids'
  | 'chunker'
  | 'blocks'
  | 'footers'
  | 'segments'
  | 'snapshots'
  | 'condemnations'
  | 'commits'
  | 'filter'
  | 'config'
  | 'groups'
  | 'realm'
  | 'verified';

export function createMasterKey(epoch: number): MasterKey {
  return { epoch, bytes: randomBytes(MASTER_KEY_BYTES) };
}

/** Keeps a master key, and fills its bytes with zeros. */
export function keepMasterKey({ epoch, bytes }: MasterKey): KeptMasterKey {
  const secret = createSecretKey(bytes);
  bytes.fill(0);
  return { epoch, secret };
}

/**
 * Derives a key of 32 bytes by HKDF-SHA-256 (RFC 5869): salt is the repository id (32 bytes), info is `ldm ` and the
 * label.
 */
export function deriveKey(masterKey: KeptMasterKey, repositoryId: Uint8Array, label: KeyLabel): Buffer {
  const secret = masterKey.secret as KeyObject;
  return Buffer.from(hkdfSync('sha256', secret, repositoryId, `ldm ${label}`, MASTER_KEY_BYTES));
}
