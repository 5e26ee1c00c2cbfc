import type { Scenario } from '../bench-types.ts';
import { check } from './check.ts';
import { deleteReclaim } from './delete-reclaim.ts';
import { filter } from './filter.ts';
import { bigArchive, bigFiles, firstBackup, releases } from './first-backup.ts';
import { oneByte } from './one-byte.ts';
import { restore } from './restore.ts';
import { startUp } from './start-up.ts';
import { unchanged } from './unchanged.ts';

/** In an order in which each dataset is needed in one stretch, so that it can go before memory is full. */
export const scenarios: readonly Scenario[] = [
  startUp,
  filter,
  releases,
  firstBackup,
  unchanged,
  restore,
  deleteReclaim,
  check,
  bigArchive,
  bigFiles,
  oneByte,
];
