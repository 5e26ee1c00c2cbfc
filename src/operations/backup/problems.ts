import type { ByteString } from '../../util/byte-string.ts';

/** A source that is not in the snapshot, or not as it should be. The rest is saved. */
export interface SourceProblem {
  readonly path: ByteString;
  readonly during: 'open' | 'read' | 'list' | 'stat' | 'changed' | 'missing';
  readonly message: string;
}
