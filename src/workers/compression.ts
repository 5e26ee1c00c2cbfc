import { Decoder, Encoder } from '@toondepauw/node-zstd';
import { CorruptDataError, LdmError } from '../errors.ts';
import { frameOutputBytesMax } from './zstd-frame.ts';

/** A block's payload as it is stored. */
export interface CompressedBlock {
  readonly codec: 'raw' | 'zstd';
  readonly bytes: Uint8Array;
}

const PROBE_BYTES = 64 * 1024;
/** A block is worth compressing when it shrinks by at least one part in this many. */
const SHRINK_DIVISOR = 32;

/**
 * Compression in the thread pool of libuv, so that several blocks are compressed at a time.
 * @toondepauw/node-zstd: prebuilt for each platform, no install script; scales over cores with its asynchronous calls.
 */
export class Compressor {
  readonly #encoder: Encoder;
  readonly #probeEncoder: Encoder = new Encoder(-5);
  readonly #decoder: Decoder = new Decoder();

  /** `level`: zstd's, from -7 to 22. */
  constructor(level: number) {
    this.#encoder = new Encoder(level);
  }

  /**
   * Compresses, decompresses again and compares, since compressor bugs have cost other tools data.
   * The input must not change until the promise settles; the output may be the input itself.
   * What is called dense is tried on samples first.
   */
  async compress(raw: Buffer, options: { readonly isDense?: boolean } = {}): Promise<CompressedBlock> {
    if (options.isDense === true && !this.#looksCompressible(raw)) return { codec: 'raw', bytes: raw };
    const compressed = await this.#encoder.encode(raw);
    if (compressed.length > raw.length - raw.length / SHRINK_DIVISOR) return { codec: 'raw', bytes: raw };
    const again = await this.#decoder.decode(compressed);
    if (!raw.equals(again)) {
      throw new LdmError('zstd gave bytes that do not decompress to what was compressed', {
        hint: 'This is a fault of the machine (memory) or of the compressor. Nothing was stored; run the command again.',
      });
    }
    return { codec: 'zstd', bytes: compressed };
  }

  /** Media, archives and encrypted files do not shrink; three short samples tell for a fraction of the price. */
  #looksCompressible(raw: Buffer): boolean {
    if (raw.length < 4 * PROBE_BYTES) return true;
    const starts = [0, Math.floor(raw.length / 2), raw.length - PROBE_BYTES / 4];
    return starts.some((start) => {
      const sample = raw.subarray(start, start + PROBE_BYTES / 4);
      return this.#probeEncoder.encodeSync(sample).length < sample.length - sample.length / SHRINK_DIVISOR;
    });
  }
}

const decoder = new Decoder();
const OUTPUT_SLACK = 8;
const OUTPUT_SLACK_BYTES = 1024 * 1024;

/** The raw bytes of a stored payload; exactly `rawBytes` long or `CorruptDataError`. */
export async function decompress(block: CompressedBlock, rawBytes: number): Promise<Uint8Array> {
  const raw = block.codec === 'raw' ? block.bytes : await decodeZstd(block.bytes, rawBytes);
  if (raw.length !== rawBytes) {
    throw new CorruptDataError(`a block holds ${raw.length} bytes, its header says ${rawBytes}`);
  }
  return raw;
}

async function decodeZstd(payload: Uint8Array, rawBytes: number): Promise<Buffer> {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  // An honest encoder may cut small blocks, so the bound is loose: it stops bombs, and the length check does the rest.
  if (frameOutputBytesMax(bytes) > rawBytes * OUTPUT_SLACK + OUTPUT_SLACK_BYTES) {
    throw new CorruptDataError(`a block would unfold to far more than the ${rawBytes} bytes that its header says`);
  }
  try {
    return await decoder.decode(bytes);
  } catch (cause) {
    throw new CorruptDataError('a block does not decompress', { cause });
  }
}
