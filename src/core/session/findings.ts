import type { PackProblem } from '../store/pack-report.ts';
import type { ByteString } from '../util/byte-string.ts';
import type { OlderState } from './memory.ts';

export type { PackProblem };

/** A file that cannot be restored unchanged, or a directory with everything below it. */
export interface AffectedPath {
  /** Snapshot id. */
  readonly snapshot: string;
  /** The path inside the snapshot. */
  readonly path: ByteString;
}

/** The snapshots and files that need damaged chunks. */
export interface Impact {
  /** Ids of the affected snapshots. */
  readonly snapshots: readonly string[];
  /** Some of the affected paths. */
  readonly paths: readonly AffectedPath[];
  /** The number of all affected paths; too low if a directory occurs in a snapshot again and again. */
  readonly pathCount: number;
}

/** One member of a union for each of the kinds. */
type OfKind<Kind extends string, Fields> = Kind extends string ? { readonly kind: Kind } & Readonly<Fields> : never;

/** A chunk whose reference count or location differs between a checkpoint and a recount. */
export type Disagreement =
  | OfKind<'not-in-filter' | 'in-no-segment' | 'two-locations', { chunkId: string }>
  | OfKind<'references', { chunkId: string; inFilter: number; recounted: number }>;

/** A small file that cannot be read. `reason` is a sentence for people; `name` is that of a file in the repository. */
export type UnreadableFile =
  | OfKind<
      'snapshot-damaged' | 'deleted-snapshot-damaged' | 'snapshot-copy-damaged',
      { severity: 'error'; snapshotId: string; reason: string }
    >
  | OfKind<'segment-damaged', { severity: 'error'; segmentId: string; reason: string }>
  | OfKind<'condemnation-damaged', { severity: 'error'; condemnationId: string; reason: string }>
  /** A key file: its password opens nothing. `keyId`: its name. `isUnread`: it may be sound, and cannot be read now. */
  | OfKind<'key-damaged', { severity: 'error'; keyId: string; isUnread: boolean; reason: string }>
  /** `realm-damaged`: the membership in a realm. Joining again rewrites it. `commit-damaged`: a commit record. */
  | OfKind<
      'config-damaged' | 'checkpoint-damaged' | 'realm-damaged' | 'commit-damaged',
      { severity: 'error'; name: string; reason: string }
    >;

/** What is wrong with a pack, and what needs its damaged chunks. */
interface PackFields {
  /** A missing pack that nothing needs is a warning. */
  severity: 'error' | 'warning';
  packId: string;
  problems: readonly PackProblem[];
  /** Undefined if no readable segment lists the pack and its footer is damaged: its chunks are unknown. */
  impact: Impact | undefined;
}

/** A problem in the repository. `kind` is stable, for scripts. */
export type Finding =
  | UnreadableFile
  /** A key file whose master key does not open the configuration, left by a rotation that was interrupted. */
  | OfKind<'key-unused', { severity: 'warning'; keyId: string }>
  /** A rotation of the master key was interrupted before it replaced this copy of the configuration. */
  | OfKind<'config-outdated', { severity: 'warning'; name: string }>
  | OfKind<'pack-damaged' | 'pack-missing', PackFields>
  /** A copy of a pack that is sound in another group. `group`: the name of the one with this copy. */
  | OfKind<'copy-damaged', { severity: 'error'; packId: string; group: string; problems: readonly PackProblem[] }>
  /** Packs that are in fewer groups than they should be. */
  | OfKind<'copies-missing', { severity: 'warning'; packCount: number; exampleId: string }>
  /** The copies of what is small in a group lack something, or there are none. */
  | OfKind<'metadata-outdated', { severity: 'warning'; group: string; state: 'outdated' | 'none' }>
  /** A copy of the file `name`, which the repository has, in a group. */
  | OfKind<'metadata-damaged', { severity: 'error'; group: string; name: string; reason: string }>
  /** There are snapshots and no packs at all. Only of a check without a key, which finds no single missing pack. */
  | OfKind<'packs-missing', { severity: 'error' }>
  /** A checkpoint lists it. */
  | OfKind<'segment-missing', { severity: 'error'; segmentId: string }>
  /** `outlook`: whether `repair` can write the manifest again, and if not, whether anything of it is left. */
  | OfKind<
      'snapshot-lost',
      { severity: 'error'; snapshotId: string; outlook: 'repairable' | 'copy-damaged' | 'unrepairable' | 'gone' }
    >
  /** The checkpoint `name` differs from a recount of the snapshots. `differences`: some of them. */
  | OfKind<
      'reference-count',
      { severity: 'error'; name: string; differenceCount: number; differences: readonly Disagreement[] }
    >
  /** Chunks that snapshots need and that are in no pack, or trees that cannot be read. */
  | OfKind<'chunk-missing', { severity: 'error'; chunkCount: number; exampleId: string; impact: Impact }>
  /** This machine has seen a newer state: another machine has deleted or repaired something, or it was put back. */
  | OfKind<'older-state', { severity: 'warning' } & OlderState>
  /** The repository relies on other domains, or they on it, and it has no membership: the file was lost. */
  | OfKind<'realm-missing', { severity: 'error'; name: string }>
  /** Whether a domain of the realm still keeps chunks that snapshots need is not known. `name`: of the domain. */
  | OfKind<'lender-unreachable', { severity: 'warning'; name: string; reason: string }>
  /** A domain does not keep what it should: it may remove the chunks. */
  | OfKind<'hold-missing', { severity: 'error'; name: string; holdCount: number }>
  /**
   * The list of chunks that the repository keeps for the domain `name` cannot be read. Until the hold ends, nothing is
   * removed.
   */
  | OfKind<'hold-damaged', { severity: 'error'; snapshotId: string; name: string; reason: string }>
  /** The file with the secret of a hold in another domain cannot be read, so this repository cannot end the hold. */
  | OfKind<'hold-note-damaged', { severity: 'error'; name: string; reason: string }>
  /** Chunks that snapshots need, and that the domain which should keep them lacks. */
  | OfKind<'borrowed-chunk-missing', { severity: 'error'; name: string; chunkCount: number; exampleId: string }>
  /** The same, if the domain has them and cannot give them. */
  | OfKind<'borrowed-chunk-unreadable', { severity: 'error'; name: string; chunkCount: number; reason: string }>
  /** A file with a name that ldm gives to files in another directory. It is ignored. */
  | OfKind<'file-misplaced', { severity: 'error' | 'warning'; name: string }>
  /** Files whose size differs from that of their chunks. */
  | OfKind<'file-size', { severity: 'error'; impact: Impact }>;

export type FindingOf<Kind extends Finding['kind']> = Extract<Finding, { readonly kind: Kind }>;

/** Returns the names of the files with findings of one kind. */
export function damagedNames(
  findings: readonly Finding[],
  kind: 'config-damaged' | 'config-outdated' | 'checkpoint-damaged' | 'realm-damaged' | 'commit-damaged',
): string[] {
  return findings.flatMap((finding) => (finding.kind === kind ? [finding.name] : []));
}
