import type { OpenRepositoryOptions } from '../repository/open-options.ts';
import type { Caller } from './caller.ts';
import type { RepositoryMemory } from './memory.ts';
import type { PasswordSource } from './unlock.ts';

/** The environment of every operation: its caller, and how to open the repository. */
export interface OperationContext
  extends
    Caller,
    Pick<
      OpenRepositoryOptions,
      'backend' | 'lockOwner' | 'lockClock' | 'openPlace' | 'scratchDirectory' | 'limits' | 'storeSizes' | 'threads'
    > {
  /** How long to wait for a lock. Default: one minute, or 0 for an exclusive lock. */
  readonly lockWaitMs?: number | undefined;
  /**
   * Operations that only read take no lock, so nothing waits for them. What another process removes meanwhile is missing:
   * then they throw, and can be repeated with a lock.
   */
  readonly readsUnlocked?: boolean | undefined;
  /** Only asked if the repository is encrypted. */
  readonly password?: PasswordSource | undefined;
  /** Changes even an append-only repository. */
  readonly overridesAppendOnly?: boolean | undefined;
  /**
   * Removes something even if this machine has seen a newer state of the repository, or copies in its groups may be newer,
   * and forgets that state. `once`: does not forget it.
   */
  readonly acceptsOlderState?: boolean | 'once' | undefined;
  /** Remembers repositories. Default: nothing is remembered. */
  readonly memory?: RepositoryMemory | undefined;
}

/** The second repository of an operation, and how to open it. Everything else is as for the first. */
export type OtherRepository = Pick<OperationContext, 'backend' | 'password'>;

/** Returns the context for one of two repositories: its notices say which one they are about. */
export function contextAt(context: OperationContext, other: OtherRepository = context): OperationContext {
  const { onNotice } = context;
  const place = other.backend.location;
  return { ...context, ...other, onNotice: onNotice && ((notice) => onNotice({ ...notice, place })) };
}

/** A backup that starts while a delete is reclaiming space must not fail because of the lock. */
export const SHARED_WAIT_MS = 60_000;

/** For operations that find or repair damage: they must see what is stored, not copies of it on this machine. */
export function uncachedContext(context: OperationContext): OperationContext {
  return { ...context, backend: context.backend.uncached ?? context.backend };
}

/** For short changes under the exclusive lock: they wait like a command with a shared one. */
export function waitingContext(context: OperationContext): OperationContext {
  return { ...context, lockWaitMs: context.lockWaitMs ?? SHARED_WAIT_MS };
}
