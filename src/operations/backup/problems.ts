import { SourceError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { joinPath } from '../../util/byte-string.ts';

/** A source that is not in the snapshot, or not as it should be. The rest is saved. */
export interface SourceProblem {
  readonly path: ByteString;
  readonly during: 'open' | 'read' | 'list' | 'stat' | 'changed' | 'missing';
  readonly message: string;
}

/** Tells what a backup passes over. */
export class ProblemReport {
  readonly #base: ByteString;
  readonly #onProblem: (problem: SourceProblem) => void;

  /** `base`: what the paths that are reported are relative to. */
  constructor(base: ByteString, onProblem: (problem: SourceProblem) => void) {
    this.#base = base;
    this.#onProblem = onProblem;
  }

  tell(path: ByteString, during: SourceProblem['during'], message: string): void {
    this.#onProblem({ path: path === '' ? this.#base : joinPath(this.#base, path), during, message });
  }

  /** Only a source may be skipped: everything else, a full repository above all, ends the backup. */
  skip(path: ByteString, during: SourceProblem['during'], error: unknown, options = { mustExist: true }): void {
    if (!(error instanceof SourceError)) throw error;
    // A file that went away since its directory was listed is not a failure.
    if (error.errno === 'ENOENT' && !options.mustExist) return;
    this.tell(path, during, error.message);
  }
}
