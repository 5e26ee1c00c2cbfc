import { LdmError } from '../../core/errors.ts';
import type { OperationContext } from '../../core/session/context.ts';

/** The number of different failures that are reported. A mount may run for weeks. */
const REPORTED_MAX = 100;

/** Reports each failure of a mount once: the programs that read repeat their requests. */
export class FailureNotices {
  readonly #onNotice: OperationContext['onNotice'];
  readonly #reported = new Set<string>();

  constructor(onNotice: OperationContext['onNotice']) {
    this.#onNotice = onNotice;
  }

  report(error: unknown): void {
    const { message } = error as Error;
    if (this.#reported.has(message) || this.#reported.size >= REPORTED_MAX) return;
    this.#reported.add(message);
    const { hint, advice } = error instanceof LdmError ? error : {};
    this.#onNotice?.({ kind: 'mount-failure', message, hint, advice });
  }
}
