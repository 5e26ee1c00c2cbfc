import { createRequire } from 'node:module';
import type * as Koffi from 'koffi';

export type SystemFunction = (...values: readonly unknown[]) => unknown;

/** A library of the system whose functions can be called from JavaScript. */
export interface SystemLibrary {
  /** A function by its declaration in C; an error where the library has no such function. */
  readonly bind: (declaration: string) => SystemFunction;
  /** The error number that the last call left. */
  readonly errno: () => number;
}

/**
 * Loads a library of the system; null is the C library that the program itself is linked to. An error where koffi or
 * the library cannot be loaded. All libraries are loaded here, because each needs RTLD_DEEPBIND (`deep`): Node exports
 * the functions of the libraries that it contains, and without the flag a library of the same kind would call those of
 * Node's version instead of its own. That is how the system's zstd failed at random on Node 22.15 and later.
 */
export function loadSystemLibrary(name: string | null): SystemLibrary {
  const koffi = createRequire(import.meta.url)('koffi') as typeof Koffi;
  const library = koffi.load(name, { deep: true });
  return {
    bind: (declaration) => library.func(declaration) as SystemFunction,
    errno: () => koffi.errno(),
  };
}
