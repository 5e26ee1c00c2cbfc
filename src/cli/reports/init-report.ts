import { escapeForTerminal } from '../../files/display-path.ts';
import type { InitResult } from '../../operations/init.ts';
import { formatBytes } from '../../util/format-bytes.ts';
import type { Output } from '../output.ts';
import { formatSection } from '../tables.ts';
import { formatCount, formatPercent } from '../words.ts';

/** `init`: what was made, and the plan of the LDM filter. */
export function reportInit(output: Output, result: InitResult): void {
  output.message('initialized', initFields(result));
  const { plan } = result;
  output.remark(`created repository ${result.repositoryId.slice(0, 10)} at ${escapeForTerminal(result.location)}`);
  output.remark(
    formatSection('LDM filter, first plan (it grows by itself)', [
      ['chunks (n_max)', formatCount(plan.capacity)],
      ['positions (m)', formatCount(plan.positions)],
      ['hash functions (k)', String(plan.hashes)],
      [
        'false positive rate when full',
        `${formatPercent(plan.fprPredicted)} predicted, ${formatPercent(plan.fprTarget)} never passed`,
      ],
      ['room before it grows', `about ${formatBytes(plan.capacity * averageSizeBytes(result))} of unique data`],
      ['chunker', describeChunker(result)],
      ['chunk ids', `keyed ${result.chunkHash === 'sha1' ? 'SHA-1' : 'SHA-256'}`],
      ['packs named by', result.packHash === 'blake3' ? 'BLAKE3' : 'SHA-256'],
    ]),
  );
}

export function initFields(result: InitResult): Record<string, unknown> {
  const { plan, chunker } = result;
  return {
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
