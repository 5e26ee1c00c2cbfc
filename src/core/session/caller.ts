import type { Notice } from './notices.ts';
import type { Progress } from './progress.ts';

/** How an operation speaks with its caller while it runs. */
export interface Caller {
  /** Aborted with a `CancelledError` as its reason. */
  readonly signal?: AbortSignal | undefined;
  readonly progress?: Progress | undefined;
  readonly onNotice?: ((notice: Notice) => void) | undefined;
  /** Returns a promise while the receiver of results and notices is too slow. Long operations wait for it. */
  readonly awaitOutput?: (() => Promise<void> | undefined) | undefined;
}
