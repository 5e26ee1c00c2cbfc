import type { Rotation } from '../../core/repository/keys/key-rotation.ts';
import type { ListedKey } from '../../core/repository/keys/key-files.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { changeKeys, openKeys } from './keys.ts';
import { rememberEncrypted } from '../../core/session/repository-memory.ts';
import { assertFullRole, withUnlocked } from '../../core/session/unlock.ts';

export interface RotateResult {
  readonly repositoryId: string;
  /** Epoch of the new master key. */
  readonly epoch: number;
  /** The key of the given password. */
  readonly keyId: string;
  /** Ids of the removed key files, with the old one of the given password. */
  readonly removedIds: readonly string[];
  /** Keys of other passwords that opened the repository until now. They can only be added again. */
  readonly lost: readonly ListedKey[];
}

/**
 * Replaces the master key: everything new is sealed under another one, which only the given password opens. What exists
 * stays readable. No other command may be running. A rotation that was interrupted can be repeated.
 */
export async function rotateMasterKey(context: OperationContext): Promise<RotateResult> {
  const store = await openKeys(context);
  return await withUnlocked(context, store, async (unlocked, password) => {
    assertFullRole(unlocked, 'rotate the master key');
    beginPhase(context.progress, 'rotating');
    const [own] = unlocked.opened;
    const rotation = await changeKeys(context, { mode: 'exclusive', opened: [own!] }, async (changes) =>
      changes.rotate(own!, { password, created: new Date().toISOString() }),
    );
    rememberEncrypted(context, { repositoryId: store.repositoryId, epoch: rotation.epoch });
    return { repositoryId: store.repositoryId, ...resultOf(rotation, own!) };
  });
}

function resultOf(
  { epoch, keyId, removed, removedUnusable }: Rotation,
  own: { readonly id: string; readonly masterKey: { readonly epoch: number } },
): Omit<RotateResult, 'repositoryId'> {
  const removedIds = [...removed.map(({ id }) => id), ...removedUnusable];
  // Those of other epochs opened nothing.
  const lost = removed.filter((key) => key.id !== own.id && key.keyEpoch === own.masterKey.epoch);
  return { epoch, keyId, removedIds, lost };
}
