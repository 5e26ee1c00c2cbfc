import type { LockClock, LockMode, LockOwner } from '../../src/core/repository/locks/lock.ts';
import { encodeLockName } from '../../src/core/repository/locks/lock-name.ts';
import type { MemoryBackend } from './memory-backend.ts';

/** Creates the lock of another process. Returns its name. */
export function forgeLock(backend: MemoryBackend, mode: LockMode, owner: LockOwner, nonce = '00'): string {
  const name = `locks/${encodeLockName({ mode, owner, nonce })}`;
  backend.poke(name, Buffer.alloc(0));
  return name;
}

/** Time passes only when somebody sleeps. */
export function fakeClock(onSleep: (nowMs: number) => void = () => undefined): LockClock {
  let nowMs = 0;
  return {
    nowMs: () => nowMs,
    sleep: async (durationMs) => {
      nowMs += durationMs;
      onSleep(nowMs);
    },
  };
}
