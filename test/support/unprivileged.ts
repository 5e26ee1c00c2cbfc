import { spawnSync } from 'node:child_process';

const NOBODY = 65_534;

const isRoot = process.geteuid?.() === 0;

/** Gives a tree to the user as whom `withoutPrivileges` works. */
export function giveToNobody(path: string): void {
  if (isRoot) spawnSync('chown', ['-R', `${NOBODY}:${NOBODY}`, path]);
}

/** Runs `action` as a user whom permissions stop: root becomes nobody for so long, anybody else is one already. */
export async function withoutPrivileges<T>(action: () => Promise<T>): Promise<T> {
  if (!isRoot) return await action();
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
