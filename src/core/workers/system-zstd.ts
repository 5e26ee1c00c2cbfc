import { loadSystemLibrary } from '../util/system-library.ts';
import type { SystemLibrary } from '../util/system-library.ts';
import { ScratchBuffer } from './scratch-buffer.ts';
import { windowLogOf } from './zstd-frame.ts';
import type { Zstd } from './zstd-frame.ts';

export const ZSTD_LIBRARY_NAME: string = process.platform === 'darwin' ? 'libzstd.1.dylib' : 'libzstd.so.1';
/** Constants of zstd.h, for the functions that are stable since version 1.4.0. */
const VERSION_MIN = 10_400;
const COMPRESSION_LEVEL = 100;
const WINDOW_LOG = 101;

/**
 * Opens the zstd library of the system. Nearly every Linux distribution has it, because its package manager needs it.
 * It is called through koffi, which does not copy buffers. A thread uses one context and one output buffer for all of
 * its calls. Returns undefined if the library cannot be loaded.
 */
export function openSystemZstd(): Zstd | undefined {
  if (process.platform === 'win32') return undefined;
  try {
    const library = loadSystemLibrary(ZSTD_LIBRARY_NAME);
    const version = library.bind('unsigned int ZSTD_versionNumber()') as () => number;
    return version() >= VERSION_MIN ? new SystemZstd(library) : undefined;
  } catch {
    return undefined;
  }
}

type NativeFunction = (...values: unknown[]) => number;

class SystemZstd implements Zstd {
  readonly #compress: NativeFunction;
  readonly #decompress: NativeFunction;
  readonly #setParameter: NativeFunction;
  readonly #boundOf: NativeFunction;
  readonly #isError: NativeFunction;
  readonly #errorName: (code: number) => string;
  readonly #free: readonly [NativeFunction, NativeFunction];
  /** Reused for all calls, because creating a context takes a tenth of the time of compressing a block. */
  readonly #compressContext: unknown;
  readonly #decompressContext: unknown;
  #level: number | undefined;
  readonly #output = new ScratchBuffer();

  constructor(library: SystemLibrary) {
    const contextOf = (name: string): unknown => {
      const context = library.bind(`void *${name}()`)();
      if (context === null) throw new Error(`${name}: not enough memory`);
      return context;
    };
    const parameters = 'void *context, void *target, size_t capacity, const void *source, size_t length';
    this.#compressContext = contextOf('ZSTD_createCCtx');
    this.#decompressContext = contextOf('ZSTD_createDCtx');
    this.#compress = library.bind(`size_t ZSTD_compress2(${parameters})`) as NativeFunction;
    this.#setParameter = library.bind(
      'size_t ZSTD_CCtx_setParameter(void *context, int parameter, int value)',
    ) as NativeFunction;
    this.#decompress = library.bind(`size_t ZSTD_decompressDCtx(${parameters})`) as NativeFunction;
    const freeOf = (name: string): NativeFunction => library.bind(`size_t ${name}(void *context)`) as NativeFunction;
    this.#free = [freeOf('ZSTD_freeCCtx'), freeOf('ZSTD_freeDCtx')];
    this.#boundOf = library.bind('size_t ZSTD_compressBound(size_t length)') as NativeFunction;
    this.#isError = library.bind('unsigned int ZSTD_isError(size_t code)') as NativeFunction;
    this.#errorName = library.bind('const char *ZSTD_getErrorName(size_t code)') as (code: number) => string;
  }

  compress(raw: Uint8Array, level: number): Uint8Array {
    const output = this.#output.atLeast(this.#boundOf(raw.length));
    if (level !== this.#level) this.#setLevel(level);
    const length = this.#compress(this.#compressContext, output, output.length, raw, raw.length);
    return output.subarray(0, this.#checked(length));
  }

  decompressInto(target: Uint8Array, frame: Buffer): number {
    return this.#checked(this.#decompress(this.#decompressContext, target, target.length, frame, frame.length));
  }

  close(): void {
    this.#free[0](this.#compressContext);
    this.#free[1](this.#decompressContext);
  }

  /** The context keeps its parameters from one frame to the next. */
  #setLevel(level: number): void {
    const set = (parameter: number, value: number): void =>
      void this.#checked(this.#setParameter(this.#compressContext, parameter, value));
    set(COMPRESSION_LEVEL, level);
    set(WINDOW_LOG, windowLogOf(level));
    this.#level = level;
  }

  #checked(code: number): number {
    if (this.#isError(code) !== 0) throw new Error(`zstd: ${this.#errorName(code)}`);
    return code;
  }
}
