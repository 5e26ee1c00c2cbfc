import type { NextReads } from '../backend/backend.ts';
import type { WorkLimits } from '../util/work-limits.ts';
import type { PackNotes } from '../store/pack-writer.ts';
import type { StoreSizes } from '../store/store-sizes.ts';
import type { TaskPool } from '../workers/task-pool.ts';
import type { AccessOptions } from './access.ts';
import type { OpenedConfig } from './config-file.ts';
import type { FetchBorrowed } from './state-reader.ts';
import type { Unlock } from './keys/unlocker.ts';

export interface OpenRepositoryOptions extends AccessOptions {
  /** What is read before there is a lock. */
  readonly firstReads?: NextReads | undefined;
  /** Called if the repository is encrypted. */
  readonly unlock?: Unlock | undefined;
  /** Called before anything else is read, and before anything is written. May throw. */
  readonly onConfig?: ((opened: OpenedConfig) => void) | undefined;
  /** Called for each checkpoint that is damaged and therefore not used. */
  readonly onDamagedCheckpoint?: ((name: string, reason: string) => void) | undefined;
  /** Sizes of the blocks, packs and segments to be written. Existing ones may have any size. */
  readonly storeSizes?: StoreSizes | undefined;
  readonly packNotes?: PackNotes | undefined;
  /** Reads the chunks that other domains keep. Default: they cannot be read. */
  readonly fetchBorrowed?: FetchBorrowed | undefined;
  /** How much of the machine to use. */
  readonly limits?: WorkLimits | undefined;
  /** Threads that compress and hash, which the caller closes. Default: threads of this process, closed when unused. */
  readonly threads?: TaskPool | undefined;
}
