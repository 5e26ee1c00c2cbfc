import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects all garbage of the calling thread, or only what was created lately. */
type Collect = (options?: { readonly type: 'minor' }) => void;

let collect: Collect | undefined;

/** Collects garbage at once. V8 waits longer than the memory outside of its heap, such as that of buffers, is worth. */
export function collectGarbage(options?: { readonly type: 'minor' }): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
  }
  collect(options);
}
