import type { ChunkerConfig } from '../format/chunker-config.ts';
import { LdmError } from '../errors.ts';
import type { BorrowedChunks } from '../format/borrowed-block.ts';
import type { NamedDomain } from '../format/snapshot-marks.ts';
import type { Snapshot } from '../format/snapshot.ts';
import type { PackInfo } from '../ldm/pack-table.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import type { PathInput } from '../util/byte-string.ts';
import type { OpenedChunkSource } from './chunk-source.ts';
import type { OperationContext } from './context.ts';
import type { PasswordSource } from './unlock.ts';
import type { Finding, FindingOf } from './findings.ts';

/**
 * What a realm adds to the work on a repository that is a member of it. The engine knows only this record, and nothing of
 * what is behind it is loaded for other repositories.
 */
export interface Extension {
  /** Reads the chunks that other domains keep for the repository. */
  openBorrowed(context: OperationContext, repository: Repository): Promise<BorrowedChunkReader>;
  /** Tells the other members what a command has changed. A failure is a notice. */
  afterChange(context: OperationContext, repository: Repository): Promise<void>;
  /**
   * Returns the packs of borrowed chunks on which a new snapshot must not rely. A domain that cannot be reached is trusted,
   * after a notice, unless `trustsUnreachable` is false.
   */
  distrustedPacks(
    context: OperationContext,
    repository: Repository,
    opened: OpenedState,
    options: { readonly trustsUnreachable: boolean },
  ): Promise<ReadonlySet<string>>;
  /**
   * Opens the domain of which a backup borrows chunks. Returns undefined, after a notice, if it cannot be reached.
   * @throws RefusedError if the repository is no member, or there is no such domain
   */
  openLender(context: OperationContext, repository: Repository, named: string): Promise<OpenedLender | undefined>;
  /** Returns the domains that keep the chunks of packs, and those that are `known`, by name. */
  lendersOfPacks(
    repository: Repository,
    packs: readonly PackInfo[],
    known?: readonly NamedDomain[],
  ): Promise<NamedDomain[]>;
  /** Returns manifests with the domains that keep chunks of their snapshots. */
  markLenders<T extends Pick<Snapshot, 'tree' | 'reliesOn'>>(
    repository: Repository,
    manifests: readonly T[],
  ): Promise<readonly T[]>;
  /** Ends what other domains keep for the repository and it no longer needs. */
  releaseUnneeded(context: OperationContext, repository: Repository): Promise<void>;
  /** Checks what domains keep for each other. `readsData`: also reads and verifies what others keep. */
  check(
    context: OperationContext,
    repository: Repository,
    opened: OpenedState,
    readsData: boolean,
  ): Promise<CheckedMember>;
  /** Finds whether the membership cannot be read. Throws errors for which `isFinding` is false. */
  findMembershipDamage(
    repository: Repository,
    isFinding: (error: unknown) => error is LdmError,
  ): Promise<readonly Finding[]>;
  /** Finds the lists of what is kept for other domains that cannot be read. */
  findDamagedHolds(
    repository: Repository,
    opened: Pick<OpenedState, 'reader'>,
  ): Promise<readonly FindingOf<'hold-damaged'>[]>;
  /** Finds these lists, and the notes about what other domains keep, that cannot be read. */
  findHoldProblems(repository: Repository, opened: Pick<OpenedState, 'reader'>): Promise<readonly Finding[]>;
  /** Opens the other members, to get chunks from them. */
  openSource(context: OperationContext): Promise<OpenedChunkSource>;
  /**
   * Reads what a new repository must have in common with the members. Asks for the password of a sealed file only if the
   * repository may become one.
   * @throws UsageError if the options choose something of that too
   * @throws RefusedError if the members are encrypted and this repository is not, or the other way round
   */
  readParameters(context: OperationContext, options: AskedParameters, file: RealmFile): Promise<RealmParameters>;
}

/** Reads chunks that other domains keep. Connects when the first one is needed. */
export interface BorrowedChunkReader {
  /**
   * Returns the bytes of a chunk of a file, verified against its id.
   * @throws BorrowedChunkError if the domain does not give them
   */
  fetch(id: Uint8Array, domainId: string): Promise<Uint8Array>;
  close(): Promise<void>;
}

export interface OpenedLender extends ChunkLender {
  readonly lender: NamedDomain;
  close(): Promise<void>;
}

let current: Extension | undefined;

/** Called once by the program and by the library, which know all parts. */
export function setExtension(given: Extension): void {
  current = given;
}

export function extension(): Extension {
  if (current === undefined) throw new LdmError('this program was built without realms');
  return current;
}

/** Returns what to ask about a repository that may be a member; undefined if it was created without a realm. */
export function extensionOf({ config }: Pick<Repository, 'config'>): Extension | undefined {
  return config.realmId === undefined ? undefined : extension();
}

/** Another repository that may keep chunks for this one. */
export interface ChunkLender {
  /** False if it surely lacks a chunk, or cannot be asked. */
  mayHave(id: Uint8Array): boolean;
  /** Whether it has each of the chunks, surely and in use. All false if it cannot be asked. */
  has(ids: readonly Uint8Array[]): Promise<readonly boolean[]>;
  /**
   * Has it keep chunks, durably. Returns the blocks that say so.
   * @throws NotKeptError if it does not keep all of them
   */
  keep(chunks: readonly OfferedChunk[]): Promise<readonly BorrowedChunks[]>;
}

/** The lender does not keep a chunk that it had: the chunk was not stored here either. */
export class NotKeptError extends Error {}

export interface OfferedChunk {
  readonly id: Uint8Array;
  readonly lengthBytes: number;
}

export interface CheckedMember {
  readonly borrowed: readonly BorrowedFrom[];
  /** The names of the domains for which the repository keeps chunks. */
  readonly heldFor: readonly string[];
  readonly findings: readonly Finding[];
}

/** What another domain keeps for this repository. */
export interface BorrowedFrom {
  readonly domainId: string;
  readonly name: string;
  /** Chunks that snapshots need, and their bytes. */
  readonly chunks: number;
  readonly bytes: number;
}

/** A realm key file, and the password of one that is sealed. */
export interface RealmFile {
  readonly file: PathInput;
  /** Only asked if the keys in the file are sealed. */
  readonly password?: PasswordSource | undefined;
}

/** What the options of a new repository choose. */
export interface AskedParameters {
  readonly chunker?: unknown;
  readonly chunkHash?: unknown;
  readonly copyParametersFrom?: unknown;
  readonly encryption?: 'always' | 'never' | 'if-configured';
}

/** What a new repository takes from a realm. */
export interface RealmParameters {
  /** 64 hex digits. */
  readonly realmId: string;
  readonly chunker: ChunkerConfig;
  readonly chunkHash: 'sha1' | 'sha256';
  /** In hex. `chunkerKey`: undefined in a realm of plain repositories. */
  readonly keys: { readonly idKey: string; readonly chunkerKey: string | undefined };
}
