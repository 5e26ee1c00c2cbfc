import type { Named } from './named.ts';

/** A day with snapshots, as the clock of the machine showed it that made them. */
export interface DayRow {
  /** 2026-11-27 */
  readonly day: string;
  readonly snapshots: number;
  /** How many of them lack files that could not be read. */
  readonly flawed: number;
}

/** The snapshots of a host and set of paths. */
export interface GroupRow {
  readonly host: string;
  readonly paths: readonly Named[];
  /** The newest snapshot and its time. Undefined if all are dated in the future. */
  readonly newest?: { readonly id: string; readonly time: string };
  readonly isOverdue: boolean;
  readonly snapshots: number;
  /** The oldest first. */
  readonly days: readonly DayRow[];
}

export interface OverviewAnswer {
  readonly groups: readonly GroupRow[];
  /** Snapshots whose manifests cannot be read. */
  readonly unreadableCount: number;
}

export interface StorageAnswer {
  readonly bytes: number;
  /** On the disk, if the repository is on this machine. */
  readonly freeBytes?: number;
  readonly diskBytes?: number;
  readonly packBytes: number;
  /** Of the packs, verified by checks with a maximum age. */
  readonly verifiedBytes: number;
  readonly oldestVerified?: string;
  /** The last check of this machine. */
  readonly lastCheck?: { readonly time: string; readonly readShare: number; readonly errorCount: number };
}

/** A run of a profile. */
export interface RunRow {
  readonly profile: string;
  readonly start: string;
  readonly result: string;
  readonly durationMs?: number;
  readonly addedBytes?: number;
  readonly snapshot?: string;
  /** The steps with their exit codes, and why it failed. */
  readonly details: string;
}

export interface RunsAnswer {
  /** The newest first. */
  readonly runs: readonly RunRow[];
  /** Why some records cannot be read. */
  readonly problems: readonly string[];
}

export interface OverviewAnswers {
  /** `hours`: after what time without a snapshot a group is overdue. */
  readonly overview: OverviewAnswer;
  readonly storage: StorageAnswer;
  readonly runs: RunsAnswer;
}
