import type { PackContents } from '../format/pack.ts';

/** What is wrong with a pack. `reason` is a sentence for people. */
export type PackProblem =
  | {
      readonly kind: 'missing' | 'footer-differs' | 'header-or-footer-differs' | 'digest-differs' | 'footer-unreadable';
    }
  | { readonly kind: 'size'; readonly foundBytes: number; readonly expectedBytes: number }
  /** The disk could not read it. */
  | { readonly kind: 'unreadable'; readonly reason: string }
  | { readonly kind: 'block-unreadable'; readonly blockOffset: number; readonly reason: string }
  | { readonly kind: 'chunks-differ'; readonly blockOffset: number; readonly chunkCount: number };

/** The result of verifying one pack. */
export interface PackReport {
  readonly pack: PackContents;
  readonly problems: readonly PackProblem[];
  /** Hex ids of the chunks that cannot be read from the pack. */
  readonly damagedChunks: readonly string[];
  readonly bytesRead: number;
  /** The place did not read some of it: what is stored there may be sound. */
  readonly isUnread?: boolean;
  /** The digest of all bytes that were read, to compare two reads. Undefined if the pack was not read as a whole. */
  readonly digest?: string;
  /** The damaged ones of several copies. Then the problems of the pack are those that no copy makes up for. */
  readonly damagedCopies?: readonly { readonly copyId: string; readonly problems: readonly PackProblem[] }[];
}

/** The report on one of several copies. */
export interface CopyReport {
  readonly copyId: string;
  readonly report: PackReport;
}

/** Makes one report of those on all copies: a chunk is damaged if it is damaged in every copy. */
export function summarizeCopies(pack: PackContents, reports: readonly CopyReport[]): PackReport {
  const damaged = reports.filter(({ report }) => report.problems.length > 0);
  const bytesRead = reports.reduce((total, { report }) => total + report.bytesRead, 0);
  const damagedCopies = damaged.map(({ copyId, report: { problems } }) => ({ copyId, problems }));
  if (damaged.length < reports.length) return { pack, problems: [], damagedChunks: [], bytesRead, damagedCopies };
  const [first, ...others] = damaged.map(({ report }) => report);
  const inOthers = others.map(({ damagedChunks }) => new Set(damagedChunks));
  const damagedChunks = first!.damagedChunks.filter((id) => inOthers.every((ids) => ids.has(id)));
  return { pack, problems: first!.problems, damagedChunks, bytesRead, damagedCopies };
}
