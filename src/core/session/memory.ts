/** What this machine has seen of a repository. */
export interface SeenRepository {
  /** When this machine first saw it (RFC 3339). Undefined if an earlier build did not record that. */
  readonly firstSeen: string | undefined;
  /** The key file that was opened last. */
  readonly keyId: string | undefined;
  /** Epoch of the newest master key; 0 if unknown. */
  readonly epoch: number;
  /** The number of the newest checkpoint; 0 if unknown. */
  readonly generation: number;
  /** The number of the newest commit record; 0 if unknown. */
  readonly commit: number;
  /** Whether a part of it was in groups. */
  readonly hasGroups?: boolean;
  /** Whether a server of this program was at the place the last time. */
  readonly isOwnServer?: boolean;
  /** Whether the repository was older than this at some time since, and the user has not accepted it. */
  readonly isOlder: boolean;
  /** The snapshots that this machine has not deleted, with their times in RFC 3339 as far as they are known. */
  readonly snapshots: ReadonlyMap<string, string | undefined>;
}

/**
 * What this machine remembers of repositories, by place and id: a copy at another place may be older. No method
 * throws: a command does not fail because of its memory.
 */
export interface RepositoryMemory {
  /** Returns the files that say that an encrypted repository was at this place. */
  tracesOfPlace(place: string): readonly string[];
  /** Returns the files that say that a repository was encrypted, at any place. */
  tracesOfId(repositoryId: string): readonly string[];
  /** Returns what was seen of each repository that was at this place. */
  seenAt(place: string): readonly SeenRepository[];
  recall(place: string, repositoryId: string): SeenRepository | undefined;
  /** No other command changes it between the call of `change` and the end. */
  update(place: string, repositoryId: string, change: (seen: SeenRepository | undefined) => SeenRepository): void;
  forgetPlace(place: string): void;
  /** Remembers that this machine writes a pack. */
  noteWritten(place: string, repositoryId: string, packId: string): void;
  /** Returns the ids of the packs that this machine has written and not forgotten. */
  writtenPacks(place: string, repositoryId: string): ReadonlySet<string>;
  /** Default: forgets all of them. */
  forgetWritten(place: string, repositoryId: string, packIds?: readonly string[]): void;
}

/** What shows that the state of a repository is older than one that this machine has seen. */
export interface OlderState {
  /** Snapshots that are gone. */
  readonly snapshots: readonly { readonly id: string; readonly time: string | undefined }[];
  /** The numbers of the newest checkpoints, if the one found is older. */
  readonly generations: { readonly seen: number; readonly found: number } | undefined;
}
