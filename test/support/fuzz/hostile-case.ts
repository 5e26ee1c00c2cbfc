import type { WrittenBlock } from '../../core/format/stranger-writer.ts';
import type { HostileRepository } from './hostile-repository.ts';
import { inSoak } from '../soak.ts';
import type { Limits } from './ordeal.ts';

export interface HostileCase {
  readonly name: string;
  readonly build: (repository: HostileRepository) => Promise<void>;
  readonly limits?: Partial<Limits>;
  /** Whether a check finds nothing, since the format permits it. */
  readonly isValid?: true;
  /** Only for `npm run soak`: another case is much the same. */
  readonly isSlow?: true;
}

/** For repositories that describe far more than they contain. */
export const UNBOUNDED: Partial<Limits> = { interruptAfterMs: inSoak(50, 15) };

/** The same block, for which the footer claims other ids. */
export function claiming(block: WrittenBlock, chunkIds: readonly string[]): WrittenBlock {
  return { ...block, listed: { ...block.listed, chunkIds } };
}
