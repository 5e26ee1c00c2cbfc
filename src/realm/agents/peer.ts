import type { Hold } from '../../core/format/snapshot-marks.ts';

/** Another domain, seen from outside: its repository, opened by this process or by an agent. */

/** What a domain knows about a chunk that it has. */
export interface KnownChunk {
  /** The pack that holds the chunk: 64 hex digits. */
  readonly packId: string;
  /** Of the block in the pack, in bytes. */
  readonly blockOffset: number;
  /** Of the chunk in the uncompressed block, in bytes. */
  readonly offsetInBlock: number;
  readonly lengthBytes: number;
  /** Number of references, 0 to 2^32 - 1. The largest value means that many or more. */
  readonly refs: number;
  readonly state: ChunkState;
}

/**
 * - `live`: at least one snapshot of the domain refers to the chunk.
 * - `dead`: no snapshot does, so the space may be reclaimed.
 * - `condemned`: it is about to be removed. It can be read for now, and nothing may newly rely on it.
 */
type ChunkState = 'live' | 'dead' | 'condemned';

/** Undefined: the domain has no such chunk, or does not know where it is. */
export type Answer = KnownChunk | undefined;

/** What a peer says about itself. */
export interface PeerStatus {
  /** The repository id: 64 hex digits. */
  readonly domainId: string;
  readonly liveCount: number;
}

/** Reads the plane files of a domain. Their names are those of src/realm/planes/plane-names.ts. */
export interface PlaneFiles {
  /** The names of the existing files, in any order. A file may vanish after it was listed. */
  names(): Promise<readonly string[]>;
  /**
   * Returns the bytes, which are the caller's to change, or undefined if there is no such file.
   * @param limitBytes - a larger file is damage
   */
  read(name: string, limitBytes: number): Promise<Uint8Array | undefined>;
}

/** What a domain keeps for others. */
export interface PeerHolds {
  /**
   * Has the domain keep chunks, durably. `ids` has up to `MAX_HELD_IDS` ids of 20 bytes. Returns a byte for each: 1 if
   * the chunk is kept.
   */
  place(hold: Hold, ids: Uint8Array): Promise<Uint8Array>;
  /** Returns which of the holds of a domain exist. Only a holder of their ids can ask: holds cannot be listed. */
  existing(holderId: string, holdIds: readonly string[]): Promise<readonly string[]>;
  /**
   * Ends holds of a domain, given by their secrets, or by their ids if they are open. Those that do not exist are ignored.
   */
  release(holderId: string, keys: readonly string[]): Promise<void>;
}

/**
 * A domain that answers exact questions. The repository opened directly and the client of an agent have this interface,
 * and an agent serves it.
 *
 * Every call rejects with a `PeerError` if the domain cannot be asked now; that says nothing about its chunks.
 */
export interface Peer {
  /** Looks up chunks: `ids` has up to `MAX_ASKED_IDS` ids of 20 bytes, one after another. One answer for each, in order. */
  ask(ids: Uint8Array): Promise<readonly Answer[]>;
  /**
   * Returns the bytes of a chunk, or undefined if the domain does not have it. The caller must compare them with the id.
   * @param id - 20 bytes
   */
  readChunk(id: Uint8Array): Promise<Uint8Array | undefined>;
  readonly planes: PlaneFiles;
  readonly holds: PeerHolds;
  status(): Promise<PeerStatus>;
  /** Ends connections or closes the repository. Calls that still run may fail. */
  close(): Promise<void>;
}

/** What an agent serves; the caller closes it. */
export type AgentService = Omit<Peer, 'close'>;

/** The most ids in one question. */
export const MAX_ASKED_IDS = 10_000;

/** The most holds in one question or release. */
export const MAX_ASKED_HOLDS = 100_000;

/** The most ids in one hold. */
export const MAX_HELD_IDS = 100_000;
