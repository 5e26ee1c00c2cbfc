import { RefusedError } from '../errors.ts';
import type { AccessMode } from '../repository/access.ts';
import type { OpenedConfig } from '../repository/config-file.ts';

/** What an operation does to a repository. `add` adds snapshots, under a shared lock; `shared` changes other things. */
export type Access = AccessMode | 'add';

/** What the owner of a key with this role may do. */
const MAY = {
  read: { access: ['read', 'list'], words: 'only read' },
  backup: { access: ['read', 'list', 'add'], words: 'only read and add snapshots' },
} as const;

/**
 * Refuses what the role of the key does not include, and what would remove something from an append-only repository.
 * This program keeps both rules to prevent mistakes. Another program with the key can do what the storage permits.
 * @throws RefusedError
 */
export function assertPermitted(
  access: Access,
  { config, role, keyId }: OpenedConfig,
  { overridesAppendOnly, isServerAppendOnly }: { overridesAppendOnly: boolean; isServerAppendOnly: boolean },
): void {
  if (role !== 'full' && !MAY[role].access.some((permitted) => permitted === access)) {
    throw new RefusedError(`the key ${keyId?.slice(0, 8)} has the role ${role} and may ${MAY[role].words}`, {
      hint: 'Nothing was changed. Use the password of a key with the role full. A role is a promise of ldm and prevents mistakes: only the storage can keep somebody who has a password from doing more.',
    });
  }
  if (isServerAppendOnly && mayRemove(access)) {
    throw new RefusedError('the server is append-only: it lets clients add snapshots, and not remove or change any', {
      hint: 'Nothing was changed. Do it on the machine that stores the repository.',
    });
  }
  if (config.isAppendOnly !== true || !mayRemove(access) || overridesAppendOnly) return;
  throw new RefusedError('the repository is append-only: snapshots may only be added', {
    advice: { code: 'override-append-only' },
  });
}

export function mayRemove(access: Access): boolean {
  return access === 'shared' || access === 'exclusive';
}
