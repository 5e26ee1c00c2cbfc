import type { Backend } from '../../../src/core/backend/backend.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import { BlockCodec } from '../../../src/core/store/block-codec.ts';
import { ChunkWriter } from '../../../src/core/store/chunk-writer.ts';
import type { StoreSizes } from '../../../src/core/store/store-sizes.ts';
import { Compressor } from '../../../src/core/workers/compression.ts';
import type { CompressedBlock } from '../../../src/core/workers/compression.ts';
import { hasher, sinkOf, threads } from './store-support.ts';
import { PLAIN } from '../../../src/core/crypto/seals.ts';

export const SIZES: StoreSizes = { blockRawBytes: 4096, packBytes: 30_000, segmentBytes: 1e9 };

export interface Writing {
  readonly writer: ChunkWriter;
  readonly packs: PackContents[];
}

/** Does with each block what it is told. */
export class TestCompressor extends Compressor {
  readonly #compress: Compressor['compress'];

  constructor(compress: Compressor['compress']) {
    super(threads, 3);
    this.#compress = compress;
  }

  override async compress(...given: Parameters<Compressor['compress']>): Promise<CompressedBlock> {
    return await this.#compress(...given);
  }
}

/** A compressor whose blocks wait for the functions that it adds to a list, and are then stored as they are. */
export function heldCompressor(): { readonly compressor: Compressor; readonly finishers: (() => void)[] } {
  const finishers: (() => void)[] = [];
  const compressor = new TestCompressor(
    async (bytes) => new Promise((resolve) => finishers.push(() => resolve({ codec: 'raw', bytes }))),
  );
  return { compressor, finishers };
}

export function beginWriting(
  backend: Backend,
  sizes: StoreSizes = SIZES,
  compressor: Compressor = new Compressor(threads, 3),
): Writing {
  const packs: PackContents[] = [];
  const codec = new BlockCodec({ seals: PLAIN, hasher, threads, compressor });
  const onPack = (pack: PackContents): void => void packs.push(pack);
  return {
    writer: new ChunkWriter({
      sink: sinkOf(backend),
      kind: 'data',
      packHash: 'blake3',
      codec,
      sizes,
      blocksAtOnce: 2,
      onPack,
    }),
    packs,
  };
}

export async function add(writer: ChunkWriter, bytes: Buffer): Promise<string> {
  const id = hasher.dataId(bytes);
  await writer.add(id, bytes);
  return Buffer.from(id).toString('hex');
}

/** Lets everything that is ready run, so that what is unhandled is noticed. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
