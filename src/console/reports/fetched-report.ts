import type { FetchedChunk, FetchedChunks } from '../../core/healing/domain-chunks.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { escapeForTerminal } from '../output/display-path.ts';
import type { Output } from '../output/output.ts';
import { countNoun } from '../output/words.ts';

/** Reports one chunk that another domain gave: with `--json`, or with `-v`. */
export function reportFetched(output: Output, { id, kind, sizeBytes, domain }: FetchedChunk, verbosity: number): void {
  if (output.json) output.message('fetched', { id, kind, size: sizeBytes, domain });
  else if (verbosity > 0) output.line(`< ${id} ${kind} (${formatBytes(sizeBytes)}) from ${escapeForTerminal(domain)}`);
}

/** The fields of a summary. Empty without `--from-domains`. */
export function fetchedFields(fetched: FetchedChunks | undefined): Record<string, unknown> {
  if (fetched === undefined) return {};
  const { chunks, bytes, byDomain } = fetched;
  return { fetched: { chunks, bytes, by_domain: byDomain } };
}

/** Says how much each domain gave. Empty without `--from-domains`. */
export function describeFetched(fetched: FetchedChunks | undefined): string[] {
  if (fetched === undefined) return [];
  if (fetched.chunks === 0) return ['fetched nothing from other domains'];
  return fetched.byDomain.map(
    ({ domain, chunks, bytes }) =>
      `fetched ${countNoun(chunks, 'chunk')} (${formatBytes(bytes)}) from ${escapeForTerminal(domain)}`,
  );
}
