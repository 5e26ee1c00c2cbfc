import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { memoryDirectory } from '../support/temp-directory.ts';

/** Zeros that take no space on the disk, and far longer to read than any test lasts. */
const ENDLESS_BYTES = 2 ** 43;

/** A home whose directory `work` has one small file and one that a backup does not come to the end of. */
export function makeEndlessHome(): string {
  const home = memoryDirectory();
  mkdirSync(join(home, 'work'));
  writeFileSync(join(home, 'work', 'first'), 'saved before the endless one');
  writeFileSync(join(home, 'work', 'zeros'), '');
  truncateSync(join(home, 'work', 'zeros'), ENDLESS_BYTES);
  return home;
}
