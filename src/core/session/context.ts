import type { OpenRepositoryOptions } from '../repository/open-options.ts';
import type { Notice } from './notices.ts';
import type { Progress } from './progress.ts';
import type { RepositoryMemory } from './memory.ts';

/** Where the password of an encrypted repository comes from. */
export interface PasswordSource {
  /** Whether the user has named a source. If not, the user may be asked for it, and may mistype it. */
  readonly isConfigured: boolean;
  /** Whether the user has given it for this repository, and not for all. */
  readonly isForThisRepository?: boolean;
  /** Whether nothing may be changed in a repository that is not encrypted. Default: it is used where it is needed. */
  readonly meansEncryption?: boolean;
  /**
   * Returns the password. The caller fills it with zeros after use.
   * @throws NoPasswordError
   */
  read(): Promise<Uint8Array>;
  /** The same for a password that is not in use yet. A user who types it must type it twice. */
  readNew(): Promise<Uint8Array>;
}

/** The environment of every operation. */
export interface OperationContext extends Pick<
  OpenRepositoryOptions,
  'backend' | 'lockOwner' | 'lockClock' | 'openPlace' | 'scratchDirectory' | 'storeSizes' | 'threads'
> {
  /** How long to wait for a lock. Default: one minute, or 0 for an exclusive lock. */
  readonly lockWaitMs?: number | undefined;
  /** Aborted with a `CancelledError` as its reason. */
  readonly signal?: AbortSignal | undefined;
  readonly progress?: Progress | undefined;
  readonly onNotice?: ((notice: Notice) => void) | undefined;
  /** Only asked if the repository is encrypted. */
  readonly password?: PasswordSource | undefined;
  /** Changes even an append-only repository. */
  readonly overridesAppendOnly?: boolean | undefined;
  /**
   * Removes something even if this machine has seen a newer state of the repository, and forgets that state. `once`: does
   * not forget it.
   */
  readonly acceptsOlderState?: boolean | 'once' | undefined;
  /** Remembers repositories. Default: nothing is remembered. */
  readonly memory?: RepositoryMemory | undefined;
  /** Returns a promise while the receiver of results and notices is too slow. Long operations wait for it. */
  readonly awaitOutput?: (() => Promise<void> | undefined) | undefined;
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
