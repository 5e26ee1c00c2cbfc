/**
 * A signal that is never aborted and calls `hook` whenever an operation looks at it: between two names of a walk, and
 * between two chunks of a file. So a test can act in the middle of an operation, and at the same moment every time.
 */
export function createSignalHook(hook: () => void): AbortSignal {
  const signal = new AbortController().signal;
  Object.defineProperty(signal, 'aborted', {
    get: () => {
      hook();
      return false;
    },
  });
  return signal;
}
