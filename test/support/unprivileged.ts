import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { withTemporaryDirectory } from './temp-directory.ts';
import { threadsOfTests } from './test-threads.ts';

export const NOBODY = 65_534;

export const isRoot: boolean = process.geteuid?.() === 0;
/** Why a test is skipped for an ordinary user. CI runs those tests as root. */
export const NEEDS_ROOT = 'needs root';
/** The reason where it applies here, else nothing. */
export const NO_ROOT: string = isRoot ? '' : NEEDS_ROOT;

/** Makes the user that `withoutPrivileges` runs as the owner of a tree. */
export function giveToNobody(path: string): void {
  if (isRoot) spawnSync('chown', ['-R', `${NOBODY}:${NOBODY}`, path]);
}

/** Runs `action` as a user without privileges: root becomes nobody until it ends, any other user stays who he is. */
export async function withoutPrivileges<T>(action: () => Promise<T>): Promise<T> {
  if (!isRoot) return await action();
  await loadEverything();
  const groups = process.getgroups!();
  process.setgroups!([NOBODY]);
  process.setegid!(NOBODY);
  process.seteuid!(NOBODY);
  try {
    return await action();
  } finally {
    process.seteuid!(0);
    process.setegid!(0);
    process.setgroups!(groups);
  }
}

let isLoaded = false;

/**
 * Packages are loaded when they are first needed, and nobody cannot read them where the project is below a directory
 * that only root may enter, such as /root. A backup and a restore load all that the tests use.
 */
async function loadEverything(): Promise<void> {
  if (isLoaded) return;
  await withTemporaryDirectory(async (directory) => {
    const source = join(directory, 'source');
    const context = { backend: new LocalBackend(join(directory, 'repository')) };
    await initRepository(context);
    writeFileSync(source, 'content');
    await backup(context, { sources: [source], cwd: '/', exclude: ['nothing'] });
    await restore(context, { selector: 'latest', target: join(directory, 'target') });
  });
  // So are the threads, which read their program.
  const threads = threadsOfTests();
  threads.prepare();
  const raw = new Uint8Array(1);
  await Promise.all(Array.from({ length: 16 }, async () => threads.run({ name: 'compress', raw, level: 1 })));
  isLoaded = true;
}
