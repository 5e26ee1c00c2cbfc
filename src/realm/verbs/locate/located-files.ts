import type { ByteString } from '../../../core/util/byte-string.ts';
import type { RealmLookUps } from './in-realm.ts';
import type { LookedUp } from './look-up.ts';
import type { SoughtFile } from './targets.ts';

/** Where the chunks of a file are. A chunk that is in several domains counts in each of them. */
export interface LocatedFile {
  /** As it was given, or below the directory that was given. */
  readonly path: ByteString;
  /** 0: the file is empty. */
  readonly chunks: number;
  /** How many of them are in this repository. */
  readonly here: number;
  /** How many are in other domains, by the id of the domain. Domains without any are left out. */
  readonly elsewhere: ReadonlyMap<string, { readonly name: string; readonly chunks: number }>;
  /** How many are certainly in no domain. */
  readonly absent: number;
  /** How many were not found, while a domain that may have them gave no answer. */
  readonly unknown: number;
}

/** What was found below a directory. A chunk of several files counts once for each. */
interface FileCounts {
  readonly chunks: number;
  readonly absent: number;
  readonly unknown: number;
  readonly files: { readonly read: number; readonly unreadable: number };
}

/** Chunks per look-up, so that the memory for a directory does not grow with the number of its files. */
const BATCH_CHUNKS = 10_000;

/** Locates the chunks of files, in batches. Calls `onFile` for each file, in order. */
export async function locateFiles(
  lookUps: Pick<RealmLookUps, 'lookUp'>,
  files: AsyncIterable<SoughtFile>,
  onFile: (file: LocatedFile) => void,
): Promise<FileCounts> {
  const counts = { chunks: 0, absent: 0, unknown: 0 };
  let [read, unreadable, pendingChunks] = [0, 0, 0];
  let pending: { readonly path: ByteString; readonly ids: readonly string[] }[] = [];
  const flush = async (): Promise<void> => {
    const distinct = [...new Set(pending.flatMap(({ ids }) => ids))];
    const found = await lookUps.lookUp(distinct.map((id) => Buffer.from(id, 'hex')));
    const byId = new Map(distinct.map((id, index) => [id, found[index]!]));
    for (const { path, ids } of pending) {
      const file = { path, ...countPlaces(ids.map((id) => byId.get(id)!)) };
      counts.chunks += file.chunks;
      counts.absent += file.absent;
      counts.unknown += file.unknown;
      onFile(file);
    }
    [pending, pendingChunks] = [[], 0];
  };
  for await (const { path, chunkIds } of files) {
    if (chunkIds === undefined) {
      unreadable += 1;
      continue;
    }
    read += 1;
    pending.push({ path, ids: chunkIds.map((id) => Buffer.from(id).toString('hex')) });
    pendingChunks += Math.max(1, chunkIds.length);
    if (pendingChunks >= BATCH_CHUNKS) await flush();
  }
  await flush();
  return { ...counts, files: { read, unreadable } };
}

function countPlaces(chunks: readonly LookedUp[]): Omit<LocatedFile, 'path'> {
  const elsewhere = new Map<string, { name: string; chunks: number }>();
  for (const { domain } of chunks.flatMap((chunk) => chunk.elsewhere)) {
    const known = elsewhere.get(domain.id) ?? { name: domain.member.name, chunks: 0 };
    elsewhere.set(domain.id, { ...known, chunks: known.chunks + 1 });
  }
  const count = (isCounted: (chunk: LookedUp) => boolean): number => chunks.filter(isCounted).length;
  return {
    chunks: chunks.length,
    here: count(({ own }) => own !== undefined),
    elsewhere,
    absent: count(({ verdict }) => verdict === 'absent'),
    unknown: count(({ verdict }) => verdict === 'unknown'),
  };
}
