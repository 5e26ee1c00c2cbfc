import { createSecretKey } from 'node:crypto';
import { CorruptDataError } from '../errors.ts';
import { ENVELOPE_BYTES, epochOfEnvelope, openEnvelope, sealEnvelope } from './envelope.ts';
import type { EnvelopeKey } from './envelope.ts';
import { deriveKey } from './master-key.ts';
import type { KeptMasterKey, KeyLabel } from './master-key.ts';

/** Encrypts and decrypts what a repository stores; in a plain repository it does nothing. */
export interface Seals {
  /** Undefined in a plain repository. */
  readonly keys: KeyRing | undefined;
  /** What sealing adds to the size of something: 0 in a plain repository. */
  readonly sealBytes: number;
  /** Returns the bytes to be stored. */
  seal(label: KeyLabel, plain: Uint8Array): Uint8Array;
  /** @throws CorruptDataError if the stored bytes are not what was sealed under this label in this repository */
  open(label: KeyLabel, stored: Uint8Array): Uint8Array;
}

export const PLAIN: Seals = {
  keys: undefined,
  sealBytes: 0,
  seal: (_label, plain) => plain,
  open: (_label, stored) => stored,
};

/** The keys of an encrypted repository, derived from its master keys when they are first needed. */
export class KeyRing implements Seals {
  readonly keys: KeyRing = this;
  readonly sealBytes: number = ENVELOPE_BYTES;
  readonly #repositoryId: Uint8Array;
  readonly #masterKeys: ReadonlyMap<number, KeptMasterKey>;
  readonly #epoch: number;
  readonly #derived = new Map<string, EnvelopeKey>();

  /** The master key of `sealEpoch` seals, by default that of the highest epoch; all of them open. */
  constructor(repositoryId: string, masterKeys: readonly KeptMasterKey[], sealEpoch?: number) {
    this.#repositoryId = Buffer.from(repositoryId, 'hex');
    this.#masterKeys = new Map(masterKeys.map((key) => [key.epoch, key]));
    this.#epoch = sealEpoch ?? Math.max(...this.#masterKeys.keys());
  }

  get masterKeys(): readonly KeptMasterKey[] {
    return [...this.#masterKeys.values()];
  }

  /** Epoch of the master key that seals. */
  get epoch(): number {
    return this.#epoch;
  }

  /**
   * The key to seal with, or to open something of another epoch.
   * @throws CorruptDataError if there is no master key of this epoch
   */
  keyOf(label: KeyLabel, epoch: number = this.#epoch): EnvelopeKey {
    const name = `${epoch} ${label}`;
    const known = this.#derived.get(name);
    if (known !== undefined) return known;
    const masterKey = this.#masterKeys.get(epoch);
    if (masterKey === undefined) throw new CorruptDataError(`there is no key of epoch ${epoch}`);
    const bytes = deriveKey(masterKey, this.#repositoryId, label);
    const key = { epoch, secret: createSecretKey(bytes), repositoryId: this.#repositoryId };
    bytes.fill(0);
    this.#derived.set(name, key);
    return key;
  }

  seal(label: KeyLabel, plain: Uint8Array): Uint8Array {
    return sealEnvelope(this.keyOf(label), plain);
  }

  open(label: KeyLabel, stored: Uint8Array): Uint8Array {
    return openEnvelope(this.keyOf(label, epochOfEnvelope(stored)), stored);
  }
}
