import type { PathNode } from '../util/path-node.ts';

/** The progress of an operation. The operation updates the fields; a display reads them whenever it likes. */
export interface Progress {
  /** Set by the display. If false, the operation does not spend time on finding the totals. */
  isShown: boolean;
  phase: string;
  /** The unit of `filesDone` and `filesTotal`. Default: files. */
  unit?: 'file' | 'pack' | 'snapshot';
  filesDone: number;
  filesTotal: number | undefined;
  bytesDone: number;
  bytesTotal: number | undefined;
  /** Whether the totals are still being counted. */
  isCounting?: boolean;
  /** Bytes written to the repository. */
  storedBytes: number;
  errorCount: number;
  /** The file being read. */
  currentFile: PathNode | undefined;
  /** Set by a restore. */
  restored?: RestoreProgress;
}

/** What a restore has done so far. Skipped files were there before, and were not written. */
export interface RestoreProgress {
  readonly filesRestored: number;
  readonly filesSkipped: number;
  readonly filesDeleted: number;
  readonly bytesRestored: number;
  readonly bytesSkipped: number;
}

export function createProgress(): Progress {
  return {
    isShown: false,
    phase: '',
    filesDone: 0,
    filesTotal: undefined,
    bytesDone: 0,
    bytesTotal: undefined,
    storedBytes: 0,
    errorCount: 0,
    currentFile: undefined,
  };
}

/** Sets the name of the current phase. */
export function beginPhase(progress: Progress | undefined, phase: string): void {
  if (progress !== undefined) progress.phase = phase;
}
