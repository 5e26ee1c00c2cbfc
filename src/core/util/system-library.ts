import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import type * as Koffi from 'koffi';

type SystemFunction = (...values: readonly unknown[]) => unknown;
/** Runs in another thread. What is passed by reference must not be collected before the promise is settled. */
type AsyncSystemFunction = (...values: readonly unknown[]) => Promise<unknown>;

/** A native system library whose functions can be called from JavaScript. */
export interface SystemLibrary {
  /** Returns a function by its C declaration; throws if the library does not have it. */
  readonly bind: (declaration: string) => SystemFunction;
  /** The same for a function that may block. */
  readonly bindAsync: (declaration: string) => AsyncSystemFunction;
  /** The errno of the last call. */
  readonly errno: () => number;
  /** Where bytes are in memory. They must not be collected while the address is in use. */
  readonly addressOf: (bytes: Uint8Array) => bigint;
}

/** Names of the C library, for a statically linked Node. */
const C_LIBRARY_NAMES = process.platform === 'darwin' ? ['libSystem.dylib'] : ['libc.so.6', 'libc.so'];

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
    bindAsync: (declaration) => promisify(library.func(declaration).async) as AsyncSystemFunction,
    errno: () => koffi.errno(),
    addressOf: (bytes) => koffi.address(bytes),
  };
}

/**
 * Loads the C library (glibc or musl). Node is normally linked to it; it must be found by name only for a static build.
 * Throws if there is none, or as `loadSystemLibrary`.
 */
export function loadCLibrary(): SystemLibrary {
  for (const name of [null, ...C_LIBRARY_NAMES]) {
    try {
      const library = loadSystemLibrary(name);
      library.bind('int futimens(int descriptor, const void *times)');
      return library;
    } catch {
      // Try the next name.
    }
  }
  throw new Error('no C library found');
}
