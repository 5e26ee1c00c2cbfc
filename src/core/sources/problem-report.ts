import { SourceError } from '../errors.ts';
import type { SourceProblem } from '../session/notices.ts';
import type { ByteString } from '../util/byte-string.ts';
import { joinPath } from '../util/byte-string.ts';
import { shownPathOf } from '../util/path-node.ts';
import type { PathNode } from '../util/path-node.ts';

/** Reports the sources that a backup skips. */
export class ProblemReport {
  readonly #base: ByteString;
  readonly #onProblem: (problem: SourceProblem) => void;

  /** `base`: the directory that reported paths are relative to. */
  constructor(base: ByteString, onProblem: (problem: SourceProblem) => void) {
    this.#base = base;
    this.#onProblem = onProblem;
  }

  report(place: PathNode, during: SourceProblem['during'], message: string): void {
    const path = shownPathOf(place);
    this.#onProblem({ path: path === '' ? this.#base : joinPath(this.#base, path), during, message });
  }

  /** Skips a source after a SourceError. Any other error, such as a full repository, ends the backup. */
  skip(place: PathNode, during: SourceProblem['during'], error: unknown, options = { mustExist: true }): void {
    if (!(error instanceof SourceError)) throw error;
    // A file that was removed after its directory was listed is not a failure.
    if (error.errno === 'ENOENT' && !options.mustExist) return;
    this.report(place, during, error.message);
  }
}
