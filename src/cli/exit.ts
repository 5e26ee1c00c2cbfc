import { fstatSync, fsyncSync } from 'node:fs';
import { EXIT_HANGUP } from '../console/exit-codes.ts';

const STDIN = 0;
const STDOUT_AND_STDERR = [1, 2];

/**
 * Ends the process, whatever the state of stdout and stderr. All output must have been written before. If any thread
 * has loaded koffi, koffi syncs both during the exit, and if that fails for stderr it waits forever for its own lock.
 * In that case the process ends without running the exit handlers of native libraries. The same applies after a hangup:
 * Node resets the terminal during the exit, and aborts if the terminal is gone. And a thread that waits for a device on
 * stdin cannot be stopped; the exit would wait for it.
 */
export async function endProcess(exitCode: number): Promise<never> {
  // No handler runs from here on, so a signal must end the process directly.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.removeAllListeners(name);
  const mayWait = exitCode > EXIT_HANGUP && isStdinDevice();
  if (exitCode === EXIT_HANGUP || mayWait || STDOUT_AND_STDERR.some(failsToSync)) await exitAtOnce(exitCode);
  process.exit(exitCode);
}

/** EINVAL is not a failure, for koffi either: pipes and terminals cannot be synced. */
function failsToSync(descriptor: number): boolean {
  try {
    fsyncSync(descriptor);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EINVAL';
  }
}

function isStdinDevice(): boolean {
  try {
    return fstatSync(STDIN).isCharacterDevice() && !process.stdin.isTTY;
  } catch {
    return false;
  }
}

/** Returns if koffi cannot be loaded. In that case it cannot block the exit. */
async function exitAtOnce(exitCode: number): Promise<void> {
  const { loadSystemLibrary } = await import('../core/util/system-library.ts');
  try {
    loadSystemLibrary(null).bind('void _exit(int status)')(exitCode);
  } catch {
    // Nothing to do.
  }
}
