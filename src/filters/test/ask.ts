import { CorruptDataError, UsageError } from '../../core/errors.ts';
import { readWholeFile } from '../../core/files/target/whole-file.ts';
import { ID_BYTES } from '../../core/ldm/positions.ts';
import { BinaryFuseFilter } from '../family/binary-fuse.ts';
import { BloomFilter } from '../family/bloom-filter.ts';
import { savedNameOf } from '../family/saved-filter.ts';
import { SortedIds } from '../family/sorted-ids.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { textOf } from '../../core/util/byte-string.ts';
import { FileCutter } from '../../core/saving/file-cutter.ts';
import { withRepository } from '../../core/session/session.ts';
import { Pacer } from '../../core/util/pacer.ts';
import type { OperationContext } from '../../core/session/context.ts';
import type { ExportFormat } from '../export/export.ts';

/** Answers membership queries from an exported file. */
export interface ExportedMembership {
  readonly format: ExportFormat;
  /** Probability that `has` is true for an absent id; 0 if the export is exact. */
  readonly falsePositiveRate: number;
  has(id: Uint8Array): boolean;
}

/** An id and its answer. */
export interface MembershipAnswer {
  /** 40 hex digits. */
  readonly id: string;
  readonly isPerhapsIn: boolean;
  /** The file chunk with this id, if the query was for a file. */
  readonly chunk?: { readonly path: ByteString; readonly offset: number; readonly sizeBytes: number };
}

const HEX_ID = /^[0-9a-f]{40}$/i;

/** @throws UsageError if an id does not have 40 hex digits */
export function parseChunkIds(texts: readonly string[]): Uint8Array[] {
  return texts.map((text) => {
    if (!HEX_ID.test(text)) {
      throw new UsageError(`${text} is not a chunk id`, { hint: `An id is ${ID_BYTES * 2} hex digits.` });
    }
    return Buffer.from(text, 'hex');
  });
}

/**
 * Opens a file from `exportMembership`, or a Guava filter with the byte-array funnel from another program; detects the
 * format from the bytes.
 * @throws SourceError if the file cannot be read
 * @throws CorruptDataError if it has none of the formats
 */
export function openMembership(path: ByteString): ExportedMembership {
  return membershipOf(readWholeFile(path), textOf(path));
}

/** The same for the bytes of a file with this name. */
export function membershipOf(bytes: Uint8Array, name: string): ExportedMembership {
  try {
    if (SortedIds.isRecognised(bytes)) return openRaw(bytes);
    return savedNameOf(bytes) === undefined ? openGuava(bytes) : openFuse(bytes);
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    throw new CorruptDataError(`${name}: ${error.message}`, {
      advice: { code: 'use-exported-filter' },
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

function openFuse(bytes: Uint8Array): ExportedMembership {
  const filter = BinaryFuseFilter.load(bytes);
  return { format: 'binary-fuse', falsePositiveRate: filter.falsePositiveRate(), has: (id) => filter.has(id) };
}

export function askIds(membership: ExportedMembership, ids: readonly Uint8Array[]): MembershipAnswer[] {
  return ids.map((id) => ({ id: hexOf(id), isPerhapsIn: membership.has(id) }));
}

/** Chunks files as the repository would, computes the ids with its key, and queries each id. Throws SourceError. */
export async function askFiles(
  context: OperationContext,
  membership: ExportedMembership,
  paths: readonly ByteString[],
  onAnswer: (answer: MembershipAnswer) => void,
): Promise<void> {
  const isKnown = (id: Uint8Array): boolean => membership.has(id);
  await withRepository(context, 'read', async (repository) => {
    const pacer = new Pacer(context);
    const cutter = new FileCutter(repository);
    for (const path of paths) {
      for (const { id, offset, sizeBytes } of cutter.chunks(path, isKnown)) {
        onAnswer({ id: hexOf(id), isPerhapsIn: membership.has(id), chunk: { path, offset, sizeBytes } });
        await pacer.pause();
      }
    }
  });
}

function hexOf(id: Uint8Array): string {
  return Buffer.from(id).toString('hex');
}
