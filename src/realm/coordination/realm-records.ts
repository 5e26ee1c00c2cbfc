import { RealmKeys } from '../formats/realm-keys.ts';
import { CorruptDataError } from '../../core/errors.ts';
import {
  decodeEndpoint,
  decodeMember,
  decodeState,
  encodeEndpoint,
  encodeMember,
  encodeState,
} from '../formats/domain-records.ts';
import type { AgentEndpoint, DomainMember, PublishedState, RecordPlace } from '../formats/domain-records.ts';
import type { Coordinator, RecordKind } from './coordinator.ts';

export type { RealmKeys } from '../formats/realm-keys.ts';

/** Derives the keys of a realm. Both in hex, 64 digits. */
export function createRealmKeys(idKey: string, realmId: string): RealmKeys {
  return new RealmKeys(idKey, realmId);
}

/** A record as it was read, for a later change of it. */
interface Versioned<T> {
  readonly value: T;
  readonly version: number;
}

/** The members of a realm, and records that cannot be used, with the reason for each. */
interface RealmMembers {
  readonly members: ReadonlyMap<string, Versioned<DomainMember>>;
  readonly damaged: ReadonlyMap<string, string>;
}

/** Reads and writes the records of one realm. What was not written by one of its members counts as damaged. */
export class RealmRecords {
  readonly #coordinator: Coordinator;
  readonly #realmId: string;
  readonly #keys: RealmKeys;

  constructor(coordinator: Coordinator, realmId: string, keys: RealmKeys) {
    this.#coordinator = coordinator;
    this.#realmId = realmId;
    this.#keys = keys;
  }

  async members(): Promise<RealmMembers> {
    const members = new Map<string, Versioned<DomainMember>>();
    const damaged = new Map<string, string>();
    for (const domainId of await this.#coordinator.list('members')) {
      try {
        const member = await this.#read('members', domainId, decodeMember);
        if (member !== undefined) members.set(domainId, member);
      } catch (error) {
        if (!(error instanceof CorruptDataError)) throw error;
        damaged.set(domainId, error.message);
      }
    }
    return { members, damaged };
  }

  /** Returns what is known of one member. Undefined also if its record is damaged: it must join again. */
  async memberOf(domainId: string): Promise<DomainMember | undefined> {
    try {
      return (await this.#read('members', domainId, decodeMember))?.value;
    } catch (error) {
      if (error instanceof CorruptDataError) return undefined;
      throw error;
    }
  }

  /** @throws CorruptDataError */
  async stateOf(domainId: string): Promise<Versioned<PublishedState> | undefined> {
    return await this.#read('state', domainId, decodeState);
  }

  /** The state of this domain, to be replaced. The value is undefined if it is damaged. Undefined: there is none. */
  async stateToReplace(domainId: string): Promise<Versioned<PublishedState | undefined> | undefined> {
    const record = await this.#coordinator.read('state', domainId);
    if (record === undefined) return undefined;
    const { bytes, version } = record;
    try {
      return { value: decodeState(bytes, this.#place('state', domainId), this.#keys), version };
    } catch (error) {
      if (!(error instanceof CorruptDataError)) throw error;
      return { value: undefined, version };
    }
  }

  /** @throws CorruptDataError */
  async endpointOf(domainId: string): Promise<AgentEndpoint | undefined> {
    return (await this.#read('live', domainId, decodeEndpoint))?.value;
  }

  /** Returns false if another process was faster: `version` is no longer that of the record. */
  async writeMember(domainId: string, member: DomainMember, version: number | undefined): Promise<boolean> {
    const bytes = encodeMember(member, this.#place('members', domainId), this.#keys);
    return (await this.#coordinator.write('members', domainId, bytes, version)) !== undefined;
  }

  /** Returns false if another process was faster. */
  async writeState(domainId: string, state: PublishedState, version: number | undefined): Promise<boolean> {
    const bytes = encodeState(state, this.#place('state', domainId), this.#keys);
    return (await this.#coordinator.write('state', domainId, bytes, version)) !== undefined;
  }

  async announce(domainId: string, endpoint: AgentEndpoint): Promise<void> {
    await this.#coordinator.announce(domainId, encodeEndpoint(endpoint, this.#place('live', domainId), this.#keys));
  }

  /** Removes all records of a domain. The member goes last: while it is there, the domain can be forgotten again. */
  async remove(domainId: string): Promise<void> {
    for (const kind of ['live', 'state', 'members'] as const) await this.#coordinator.remove(kind, domainId);
  }

  #place(kind: RecordKind, domainId: string): RecordPlace {
    return { realmId: this.#realmId, domainId, kind };
  }

  async #read<T>(
    kind: RecordKind,
    domainId: string,
    decode: (bytes: Uint8Array, place: RecordPlace, keys: RealmKeys) => T,
  ): Promise<Versioned<T> | undefined> {
    const record = await this.#coordinator.read(kind, domainId);
    if (record === undefined) return undefined;
    return { value: decode(record.bytes, this.#place(kind, domainId), this.#keys), version: record.version };
  }
}
