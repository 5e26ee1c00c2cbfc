import type { Backend } from '../../../src/core/backend/backend.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import { BlockCodec } from '../../../src/core/store/block-codec.ts';
import { ChunkWriter } from '../../../src/core/store/chunk-writer.ts';
import type { StoreSizes } from '../../../src/core/store/store-sizes.ts';
import { Compressor } from '../../../src/core/workers/compression.ts';
import { hasher, sinkOf, threads } from './store-support.ts';
import { PLAIN } from '../../../src/core/crypto/seals.ts';

export const SIZES: StoreSizes = { blockRawBytes: 4096, packBytes: 30_000, segmentBytes: 1e9 };

export interface Writing {
  readonly writer: ChunkWriter;
  readonly compressor: Compressor;
  readonly codec: BlockCodec;
  readonly packs: PackContents[];
}

export function beginWriting(backend: Backend, sizes: StoreSizes = SIZES): Writing {
  const packs: PackContents[] = [];
  const compressor = new Compressor(threads, 3);
  const codec = new BlockCodec({ seals: PLAIN, hasher, threads, compressor });
  const onPack = (pack: PackContents): void => void packs.push(pack);
  return {
    writer: new ChunkWriter({ sink: sinkOf(backend), kind: 'data', packHash: 'blake3', codec, sizes, onPack }),
    compressor,
    codec,
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
