import { createRequire } from 'node:module';
import type * as Koffi from 'koffi';

type SystemFunction = (...values: readonly unknown[]) => unknown;

/** A native system library whose functions can be called from JavaScript. */
export interface SystemLibrary {
  /** Returns a function by its C declaration; throws if the library does not have it. */
  readonly bind: (declaration: string) => SystemFunction;
  /** The errno of the last call. */
  readonly errno: () => number;
}

/**
 * Loads a system library; null is the C library that the program itself is linked to. Throws if koffi or the library
 * cannot be loaded. All libraries are loaded here, because each needs RTLD_DEEPBIND (`deep`): Node exports the
 * functions of its bundled libraries, and without the flag a system library of the same kind would call those instead
 * of its own. This made the zstd of the system fail randomly on Node 22.15 and later.
 */
export function loadSystemLibrary(name: string | null): SystemLibrary {
  const koffi = createRequire(import.meta.url)('koffi') as typeof Koffi;
  const library = koffi.load(name, { deep: true });
  return {
    bind: (declaration) => library.func(declaration) as SystemFunction,
    errno: () => koffi.errno(),
  };
}
