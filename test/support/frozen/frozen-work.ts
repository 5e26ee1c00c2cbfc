import {
  chmodSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { describeTree } from '../compare-trees.ts';
import { createPrng } from '../prng.ts';
import { bytesOf } from '../tree-paths.ts';

/** Makes the directory that the frozen repositories have backed up. */
export function makeWork(work: string): void {
  mkdirSync(join(work, 'docs', 'deep'), { recursive: true });
  mkdirSync(join(work, 'photos'));
  writeFileSync(join(work, 'docs', 'note.md'), 'note 0\n');
  writeFileSync(join(work, 'docs', 'empty'), '');
  writeFileSync(join(work, 'docs', 'deep', 'plan'), 'a plan\n'.repeat(40));
  chmodSync(join(work, 'docs', 'deep', 'plan'), 0o444);
  chmodSync(join(work, 'docs', 'deep'), 0o750);
  writeFileSync(join(work, 'photos', 'kept'), createPrng(1).bytes(5000));
  writeFileSync(join(work, 'photos', 'edited'), createPrng(2).bytes(3000));
  writeFileSync(join(work, 'photos', 'sparse'), createPrng(3).bytes(500));
  truncateSync(join(work, 'photos', 'sparse'), 20_000);
  linkSync(join(work, 'photos', 'kept'), join(work, 'photos', 'second name'));
  symlinkSync('../docs/note.md', join(work, 'photos', 'link'));
  // Latin-1, so it is not UTF-8.
  writeFileSync(bytesOf(`${work}/photos/caf\u00e9`), 'coffee\n');
  setTimes(work);
}

/** Each version has chunks that the one before does not have, and does not have some of its chunks. */
export function changeWork(work: string, version: number): void {
  writeFileSync(join(work, 'docs', 'note.md'), `note ${version}\n`);
  writeFileSync(join(work, 'photos', 'edited'), createPrng(10 + version).bytes(3000));
  writeFileSync(join(work, 'docs', `version-${version}`), createPrng(20 + version).bytes(700));
  if (version > 1) unlinkSync(join(work, 'docs', `version-${version - 1}`));
  setTimes(work);
}

/** Half of them are not whole seconds. */
function setTimes(work: string): void {
  const paths = [...describeTree(work).keys()].sort();
  for (const [index, path] of paths.entries()) {
    const seconds = 1_700_000_000 + 1000.5 * index;
    lutimesSync(bytesOf(`${work}/${path}`), seconds, seconds);
  }
}
