import type { SnapshotListing } from '../repository/read-snapshots.ts';
import type { Advice } from '../util/advice.ts';
import type { ByteString } from '../util/byte-string.ts';
import type { OlderState } from './memory.ts';

/** Something that the user should know while an operation runs. The command line has the sentences. */
export type Notice = NoticeOfKind & {
  /** The place of the repository that it is about. Only if the operation works on two. */
  readonly place?: string;
};

type NoticeOfKind =
  | { readonly kind: 'lock-wait'; readonly holder: string }
  /** The repository is read without a lock, so nothing may be removed meanwhile. */
  | { readonly kind: 'read-without-lock'; readonly reason: string }
  /** The work is done. Other processes see that the lock is abandoned once this process has exited. */
  | { readonly kind: 'lock-not-released'; readonly reason: string }
  /** The work is done. The other members of the realm learn of it when this repository publishes again. */
  /** Unless the repository must join again, the next change publishes them. */
  | { readonly kind: 'plane-not-published'; readonly reason: string; readonly mustJoin: boolean }
  /** What is in this group cannot be read now. */
  | { readonly kind: 'group-offline'; readonly name: string; readonly at: string; readonly reason: string }
  /** New packs are in fewer groups than wanted, because too few could take them. */
  | { readonly kind: 'fewer-copies'; readonly packCount: number }
  /** Nothing more was written to a group, although it can be reached and has room. */
  | { readonly kind: 'group-not-written'; readonly name: string; readonly reason: string }
  /** One of several repositories that a backup could go to. */
  | { readonly kind: 'candidate-left-out'; readonly reason: string }
  /** Data of the new snapshot is in packs that are in no group that can be reached. `packBytes`: the size of the packs. */
  | { readonly kind: 'relies-on-offline'; readonly packCount: number; readonly packBytes: number }
  /** Nothing is lost, but opening the repository takes longer. */
  | { readonly kind: 'checkpoint-damaged'; readonly name: string; readonly reason: string }
  /** Nothing is lost: what it lists is verified again. */
  | { readonly kind: 'verified-record-damaged'; readonly name: string; readonly reason: string }
  /** The packs are verified, but the next check does not know. */
  | { readonly kind: 'verification-not-recorded'; readonly reason: string }
  /** A key file that is damaged, or belongs to another repository. The other ones work. */
  | { readonly kind: 'key-unusable'; readonly keyId: string; readonly reason: string }
  /** A realm key file with keys that are not sealed. `mode`: its permissions. */
  | { readonly kind: 'realm-file-readable'; readonly path: ByteString; readonly mode: number }
  /** It may be typed again. */
  | { readonly kind: 'wrong-password' }
  /** The repository is not encrypted, so anybody who can write to its place may have made what is read. */
  | { readonly kind: 'password-not-used' }
  | { readonly kind: 'checkpoint-not-written'; readonly reason: string }
  | ({ readonly kind: 'older-state' } & OlderState)
  | { readonly kind: 'manifest-damaged'; readonly snapshotId: string; readonly reason: string }
  /** A directory of a snapshot was left out, because its tree is damaged or missing. */
  | {
      readonly kind: 'tree-unreadable';
      readonly snapshotId: string;
      readonly path: ByteString;
      readonly reason: string;
    }
  | { readonly kind: 'manifest-copy-not-written'; readonly reason: string }
  /** Things that cannot be read, and that a new snapshot may depend on. */
  | { readonly kind: 'repository-damaged'; readonly unreadableCount: number }
  /** Directories of the parent snapshot cannot be read, and are stored again. */
  | { readonly kind: 'parent-damaged' }
  /** Chunks that a backup would have relied on have other bytes than their ids say. `isStored`: they are stored again. */
  | {
      readonly kind: 'reused-wrong';
      readonly chunkCount: number;
      readonly exampleId: string;
      readonly isStored: boolean;
    }
  | ({ readonly kind: 'source-problem' } & SourceProblem)
  /** What it lists is saved. */
  | { readonly kind: 'ignore-file-unreadable'; readonly reason: string }
  | { readonly kind: 'snapshot-without-files' }
  /** A stream had no content. The command that should have written it may have failed. */
  | { readonly kind: 'stream-empty' }
  /** The repository itself, or a copy of it, was among the sources. */
  | { readonly kind: 'repository-left-out'; readonly path: ByteString }
  /** A domain gave wrong bytes for a chunk, which are not used; without `domain`: it is not known who has the chunk. */
  | {
      readonly kind: 'domain-problem';
      readonly domain?: string;
      readonly chunkId: string;
      readonly message: string;
    }
  /** A domain cannot be asked for chunks to rely on, so they are stored here. */
  | {
      readonly kind: 'lender-unreachable';
      readonly domain: string;
      readonly reason: string;
      readonly mustJoin: boolean;
    }
  /** It is not known whether a domain still keeps what snapshots need. `isStored`: what is found of that is stored here. */
  | {
      readonly kind: 'loans-not-verified';
      readonly domain: string;
      readonly reason: string;
      readonly isStored: boolean;
    }
  /** The domain did not keep chunks that it had, so the backup began again and stores them. */
  | { readonly kind: 'chunks-not-kept'; readonly domain: string }
  /** A domain keeps chunks for this repository that it no longer needs. The next compaction tries again. */
  | { readonly kind: 'hold-not-released'; readonly domain: string; readonly reason: string; readonly mustJoin: boolean }
  | ({ readonly kind: 'restore-problem' } & RestoreProblem)
  | ({ readonly kind: 'copy-problem' } & CopyProblem)
  | { readonly kind: 'times-in-milliseconds' }
  /** No snapshot has the host, path or tag that was given. */
  | { readonly kind: 'nothing-matches'; readonly message: string }
  /** Names of owners and groups that this machine does not know. Their files got the numbers in the snapshot. */
  | { readonly kind: 'unknown-owners'; readonly users: readonly ByteString[]; readonly groups: readonly ByteString[] }
  /** `latest` was chosen among snapshots of different hosts or paths. */
  | {
      readonly kind: 'latest-among-groups';
      readonly name: string;
      readonly snapshot: SnapshotListing;
      readonly groupCount: number;
    }
  /** Each of them stays the latest until its date has passed. */
  | { readonly kind: 'dated-in-future'; readonly snapshots: readonly SnapshotListing[] }
  /** The clock of the place of the repository shows another time. `aheadMs`: how much later. */
  | { readonly kind: 'clocks-differ'; readonly aheadMs: number }
  /** The new snapshot is dated before an earlier one of the same host and paths. */
  | { readonly kind: 'dated-before-newest'; readonly newest: SnapshotListing }
  | ({ readonly kind: 'unindexed-packs-stay' } & StayingPacks)
  /** Packs with dead space could not be rewritten. */
  | { readonly kind: 'disk-full'; readonly packCount: number }
  | { readonly kind: 'export-incomplete' }
  /** Something in a mounted repository could not be read. */
  | {
      readonly kind: 'mount-failure';
      readonly message: string;
      readonly hint: string | undefined;
      readonly advice: Advice | undefined;
    }
  /** A mount ended although programs were using it. */
  | { readonly kind: 'unmounted-while-used' };

/** Packs that no segment lists, and that are not removed yet: a newer state of the repository may need them. */
export interface StayingPacks {
  readonly packIds: ReadonlySet<string>;
  /** With all copies. */
  readonly packBytes: number;
  /** When the last of them may go (RFC 3339). Undefined if that is not known. */
  readonly until: string | undefined;
  /** Whether no other pack is removed either, because this machine is new to the repository. */
  readonly isAllKept: boolean;
}

/** A snapshot that is not copied. All others are. */
export interface CopyProblem {
  readonly snapshotId: string;
  /** What cannot be read, if it is one place in the snapshot. */
  readonly path?: ByteString | undefined;
  readonly message: string;
  readonly advice?: Advice | undefined;
}

/** An entry that differs at the target from the snapshot. */
export interface RestoreProblem {
  readonly path: ByteString;
  readonly message: string;
  /** The code of the error. */
  readonly code: string;
}

/** A source that is missing from the snapshot or incomplete in it. All other sources are saved. */
export interface SourceProblem {
  /** The path, shortened if it is very long. */
  readonly path: ByteString;
  readonly during: 'open' | 'read' | 'list' | 'stat' | 'changed' | 'missing' | 'attributes' | 'import';
  readonly message: string;
}
