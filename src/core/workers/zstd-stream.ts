import { ArchiveError, InstallationError } from '../errors.ts';
import { loadSystemLibrary } from '../util/system-library.ts';
import { ZSTD_LIBRARY_NAME } from './system-zstd.ts';

const OUTPUT_BYTES = 1024 * 1024;
/** Of ZSTD_inBuffer and ZSTD_outBuffer in zstd.h: an address, a size and a position, 8 bytes each. */
const BUFFER_FIELDS = 3;
const POSITION = 2;

/** Decompresses a stream of frames, as the program zstd writes it. */
interface ZstdStream {
  /** Yields what the bytes contain, each piece valid until the next one. Throws ArchiveError. */
  decompress(bytes: Uint8Array): Generator<Uint8Array>;
  /** Whether the last frame is complete. */
  readonly isComplete: boolean;
  /** The last call. */
  close(): void;
}

/**
 * Opens a decompressor of the system's zstd library, which has the same functions everywhere: Node 20 has none, and
 * those of later versions read only the first frame, or do not notice the end of a truncated one.
 * @throws InstallationError without the library
 */
export function openZstdStream(): ZstdStream {
  try {
    return new SystemZstdStream();
  } catch (cause) {
    throw new InstallationError('the zstd library of the system is missing, so the archive cannot be decompressed', {
      hint: 'Decompress it on the way: `zstd -dc <archive> | ...`, with - as the name of the archive.',
      cause,
    });
  }
}

class SystemZstdStream implements ZstdStream {
  isComplete = true;
  readonly #library = loadSystemLibrary(ZSTD_LIBRARY_NAME);
  readonly #context = this.#library.bind('void *ZSTD_createDCtx()')();
  readonly #run = this.#library.bind('size_t ZSTD_decompressStream(void *context, void *output, void *input)');
  readonly #isError = this.#library.bind('unsigned int ZSTD_isError(size_t code)');
  readonly #errorName = this.#library.bind('const char *ZSTD_getErrorName(size_t code)');
  readonly #output = Buffer.allocUnsafeSlow(OUTPUT_BYTES);
  readonly #outputFields = new BigUint64Array(new ArrayBuffer(8 * BUFFER_FIELDS));
  readonly #inputFields = new BigUint64Array(new ArrayBuffer(8 * BUFFER_FIELDS));

  *decompress(bytes: Uint8Array): Generator<Uint8Array> {
    this.#inputFields.set([this.#library.addressOf(bytes), BigInt(bytes.length), 0n]);
    for (let isFull = false; isFull || Number(this.#inputFields[POSITION]) < bytes.length;) {
      this.#outputFields.set([this.#library.addressOf(this.#output), BigInt(OUTPUT_BYTES), 0n]);
      const code = this.#run(this.#context, bytesOf(this.#outputFields), bytesOf(this.#inputFields)) as number;
      if ((this.#isError(code) as number) !== 0) {
        throw new ArchiveError(`the archive cannot be decompressed with zstd: ${this.#errorName(code) as string}`);
      }
      const length = Number(this.#outputFields[POSITION]);
      // It returns 0 at the end of a frame. After a full output, more may be waiting inside.
      isFull = length === OUTPUT_BYTES && code !== 0;
      this.isComplete = code === 0;
      if (length > 0) yield this.#output.subarray(0, length);
    }
  }

  close(): void {
    this.#library.bind('size_t ZSTD_freeDCtx(void *context)')(this.#context);
  }
}

function bytesOf(fields: BigUint64Array): Uint8Array {
  return new Uint8Array(fields.buffer);
}
