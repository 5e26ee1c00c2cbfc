import { CorruptDataError, UsageError } from '../../errors.ts';
import { readWholeFile } from '../../files/whole-file.ts';
import { ID_BYTES } from '../../filter/positions.ts';
import { BloomFilter } from '../../filters/bloom-filter.ts';
import { SortedIds } from '../../filters/sorted-ids.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { textOf } from '../../util/byte-string.ts';
import { chunkIdsOfFile } from './chunk-ids-of-file.ts';
import { Pacer, withRepository } from '../context.ts';
import type { OperationContext } from '../context.ts';
import type { ExportFormat } from './export.ts';

/** What is asked of an exported file. */
export interface ExportedMembership {
  readonly format: ExportFormat;
  /** How often `has` is true for an id that is absent; 0 if never. */
  readonly falsePositiveRate: number;
  has(id: Uint8Array): boolean;
}

/** One id and its answer. */
export interface MembershipAnswer {
  /** 40 hex digits. */
  readonly id: string;
  readonly isPerhapsIn: boolean;
  /** The chunk of a file that has the id, where a file was asked for. */
  readonly chunk?: { readonly path: ByteString; readonly offset: number; readonly sizeBytes: number };
}

const HEX_ID = /^[0-9a-f]{40}$/i;

/** @throws UsageError for an id that is not 40 hex digits */
export function parseChunkIds(texts: readonly string[]): Uint8Array[] {
  return texts.map((text) => {
    if (!HEX_ID.test(text)) {
      throw new UsageError(`${text} is not a chunk id`, { hint: `An id is ${ID_BYTES * 2} hex digits.` });
    }
    return Buffer.from(text, 'hex');
  });
}

/**
 * Opens what `exportMembership` wrote, or another program's Guava filter with the byte-array funnel; which of the two is
 * seen from the bytes.
 * @throws SourceError if the file cannot be read
 * @throws CorruptDataError if it is neither
 */
export function openMembership(path: ByteString): ExportedMembership {
  const bytes = readWholeFile(path);
  try {
    return SortedIds.isRecognised(bytes) ? openRaw(bytes) : openGuava(bytes);
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    throw new CorruptDataError(`${textOf(path)}: ${error.message}`, {
      hint: 'Use a file that `ldm filter export` wrote, or a Guava BloomFilter.',
      cause: error,
    });
  }
}

function openRaw(bytes: Uint8Array): ExportedMembership {
  const ids = SortedIds.load(bytes);
  return { format: 'raw', falsePositiveRate: 0, has: (id) => ids.has(id) };
}

function openGuava(bytes: Uint8Array): ExportedMembership {
  const filter = BloomFilter.load(bytes);
  return { format: 'guava', falsePositiveRate: filter.falsePositiveRate(), has: (id) => filter.has(id) };
}

export function askIds(membership: ExportedMembership, ids: readonly Uint8Array[]): MembershipAnswer[] {
  return ids.map((id) => ({ id: hexOf(id), isPerhapsIn: membership.has(id) }));
}

/** Cuts files as the repository would, computes the ids with its key, and asks for each. Throws SourceError. */
export async function askFiles(
  context: OperationContext,
  membership: ExportedMembership,
  paths: readonly ByteString[],
  onAnswer: (answer: MembershipAnswer) => void,
): Promise<void> {
  await withRepository(context, 'read', async ({ config: { chunker }, hasher }) => {
    const pacer = new Pacer(context.signal);
    for (const path of paths) {
      for (const { id, offset, sizeBytes } of chunkIdsOfFile(path, { chunker, hasher })) {
        onAnswer({ id: hexOf(id), isPerhapsIn: membership.has(id), chunk: { path, offset, sizeBytes } });
        await pacer.pause();
      }
    }
  });
}

function hexOf(id: Uint8Array): string {
  return Buffer.from(id).toString('hex');
}
