import { MAX_CHUNK_BYTES } from './constants.ts';
import type { JsonReader } from './json-reader.ts';

/** Chunking parameters. Structurally the same as the parameters of the chunkers. */
export type ChunkerConfig =
  | {
      readonly kind: 'fastcdc';
      readonly minSizeBytes: number;
      readonly averageSizeBytes: number;
      readonly maxSizeBytes: number;
    }
  | { readonly kind: 'fixed'; readonly sizeBytes: number };

/** Returns the members of a JSON object. */
export function encodeChunker(chunker: ChunkerConfig): Record<string, number | string> {
  if (chunker.kind === 'fixed') return { kind: chunker.kind, size_bytes: chunker.sizeBytes };
  return {
    kind: chunker.kind,
    min_size_bytes: chunker.minSizeBytes,
    average_size_bytes: chunker.averageSizeBytes,
    max_size_bytes: chunker.maxSizeBytes,
  };
}

/** @throws CorruptDataError */
export function readChunker(reader: JsonReader): ChunkerConfig {
  const kind = reader.oneOf('kind', ['fastcdc', 'fixed']);
  if (kind === 'fixed') return { kind, sizeBytes: reader.integer('size_bytes', 1, MAX_CHUNK_BYTES) };
  const maxSizeBytes = reader.integer('max_size_bytes', 1, MAX_CHUNK_BYTES);
  const averageSizeBytes = reader.integer('average_size_bytes', 1, maxSizeBytes);
  const minSizeBytes = reader.integer('min_size_bytes', 1, averageSizeBytes);
  return { kind, minSizeBytes, averageSizeBytes, maxSizeBytes };
}
