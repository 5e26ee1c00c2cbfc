import type { Scenario } from '../bench-types.ts';
import { check } from './check.ts';
import { deleteReclaim } from './delete-reclaim.ts';
import { filter } from './filter.ts';
import { bigArchive, bigFiles, firstBackup, releases } from './first-backup.ts';
import { oneByte } from './one-byte.ts';
import { restore, restoreBig, restoreReleases } from './restore.ts';
import { startUp } from './start-up.ts';
import { unchanged } from './unchanged.ts';

/**
 * In an order in which each dataset is needed in one stretch, so that it can go before memory is full. `oneByte` is the
 * last that uses the big files: it gives one a new time, so a restore would differ from it.
 */
export const scenarios: readonly Scenario[] = [
  startUp,
  filter,
  releases,
  restoreReleases,
  firstBackup,
  unchanged,
  restore,
  deleteReclaim,
  check,
  bigArchive,
  restoreBig,
  bigFiles,
  oneByte,
];
