import { escapeForTerminal } from '../output/display-path.ts';
import type { ExistingRepository, InitResult } from '../../core/creating/init.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import type { Session } from '../session.ts';
import { formatSection } from '../output/tables.ts';
import { formatCount, formatPercent, quoteForShell } from '../output/words.ts';

/** Reports `init`: the new repository and the next step; with `-v` also its settings and the plan of the LDM filter. */
export function reportInit(session: Session, result: InitResult): void {
  const { output, verbosity } = session;
  const place = escapeForTerminal(result.location);
  output.complete(`The repository at ${place} was created.`);
  output.message('initialized', initFields(result));
  output.remark(describeCreated(result));
  if (verbosity > 0) output.remark([describeStorage(result), describePlan(result)].join('\n'));
  const shared = describeShared(result);
  if (shared !== undefined) output.remark(shared);
  if (output.isFollowed) return;
  output.remark(`next: ldm ${session.isDefaultRepository ? '' : `-r ${quoteForShell(place)} `}backup <path>`);
}

/** Reports `init --if-missing` where there is a repository. */
export function reportExisting({ output }: Session, existing: ExistingRepository): void {
  const { repositoryId: id, location, isEncrypted, isAppendOnly } = existing;
  const fields = { id, repository: location, encrypted: isEncrypted, append_only: isAppendOnly };
  output.message('initialized', { created: false, ...fields });
  const place = escapeForTerminal(location);
  output.remark(
    `there is already a repository ${id.slice(0, 10)} at ${place}, ${kindOf(existing)}; it was not changed`,
  );
}

/** Says what copied parameters mean for `ldm copy`. */
function describeShared({ hasSameChunks }: InitResult): string | undefined {
  if (hasSameChunks === undefined) return undefined;
  return hasSameChunks
    ? 'chunks are the same in both repositories: `ldm copy` stores them as they are'
    : 'only one of the two repositories is encrypted, so chunks differ: `ldm copy` cuts files again';
}

function kindOf({ isEncrypted, isAppendOnly }: Pick<InitResult, 'isEncrypted' | 'isAppendOnly'>): string {
  return `${isEncrypted ? 'encrypted' : 'not encrypted'}${isAppendOnly ? ', append-only' : ''}`;
}

/** Says whether the repository is encrypted, since users may assume that it is. */
export function describeCreated(result: InitResult): string {
  const id = result.repositoryId.slice(0, 10);
  return `created repository ${id} at ${escapeForTerminal(result.location)}, ${kindOf(result)}`;
}

function describeStorage(result: InitResult): string {
  return formatSection('Storage', [
    ['chunker', describeChunker(result)],
    ['chunk ids', `keyed ${result.chunkHash === 'sha1' ? 'SHA-1' : 'SHA-256'}`],
    ['pack names', result.packHash === 'blake3' ? 'BLAKE3' : 'SHA-256'],
    ...(result.realmId === undefined ? [] : [['realm', result.realmId] as const]),
  ]);
}

function describePlan(result: InitResult): string {
  const { plan } = result;
  return formatSection('LDM filter, initial plan (it grows automatically)', [
    ['chunks (n_max)', formatCount(plan.capacity)],
    ['positions (m)', formatCount(plan.positions)],
    ['hash functions (k)', String(plan.hashes)],
    [
      'false positive rate when full',
      `${formatPercent(plan.fprPredicted)} predicted, ${formatPercent(plan.fprTarget)} at most`,
    ],
    ['room before it grows', `about ${formatBytes(plan.capacity * averageSizeBytes(result))} of unique data`],
  ]);
}

export function initFields(result: InitResult): Record<string, unknown> {
  const { plan, chunker } = result;
  return {
    created: true,
    id: result.repositoryId,
    repository: result.location,
    chunker:
      chunker.kind === 'fixed'
        ? { kind: chunker.kind, size: chunker.sizeBytes }
        : {
            kind: chunker.kind,
            min_size: chunker.minSizeBytes,
            average_size: chunker.averageSizeBytes,
            max_size: chunker.maxSizeBytes,
          },
    encrypted: result.isEncrypted,
    append_only: result.isAppendOnly,
    realm_id: result.realmId,
    same_chunks: result.hasSameChunks,
    chunk_hash: result.chunkHash,
    pack_hash: result.packHash,
    plan: {
      capacity: plan.capacity,
      positions: plan.positions,
      hashes: plan.hashes,
      fpr_target: plan.fprTarget,
      fpr_predicted: plan.fprPredicted,
    },
  };
}

function averageSizeBytes({ chunker }: InitResult): number {
  return chunker.kind === 'fixed' ? chunker.sizeBytes : chunker.averageSizeBytes;
}

function describeChunker({ chunker }: InitResult): string {
  if (chunker.kind === 'fixed') return `fixed, ${formatBytes(chunker.sizeBytes)}`;
  const { minSizeBytes, averageSizeBytes: average, maxSizeBytes } = chunker;
  return `fastcdc, average ${formatBytes(average)}, from ${formatBytes(minSizeBytes)} to ${formatBytes(maxSizeBytes)}`;
}
