/** A snapshot, and what the rules do with it. */
export interface RetainedRow {
  readonly id: string;
  readonly time: string;
  /** As the clock of the machine showed it that made it: 2026-11-27. */
  readonly day: string;
  readonly tags: readonly string[];
  readonly stays: boolean;
  /** Why it stays, or why it goes although a rule keeps it. */
  readonly reasons: readonly string[];
  /** What deleting only this one would free. */
  readonly onlyHereBytes: number;
}

export interface RetentionGroup {
  /** What its snapshots have in common. */
  readonly name: string;
  /** The newest first. */
  readonly snapshots: readonly RetainedRow[];
}

export interface RetentionAnswer {
  readonly groups: readonly RetentionGroup[];
  readonly staying: number;
  readonly going: number;
  /** What deleting all that go frees. */
  readonly storedBytes: number;
  readonly rawBytes: number;
  /** With a limit of the size: that of the repository, now and without what goes. */
  readonly size?: { readonly beforeBytes: number; readonly expectedBytes: number };
}

export interface RetentionAnswers {
  /** By the options of `ldm forget`: `keep-last` to `keep-yearly`, `keep-within`, `keep-size`, `group-by`. */
  readonly retention: RetentionAnswer;
}
