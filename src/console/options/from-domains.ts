import type { FetchedChunk } from '../../core/healing/domain-chunks.ts';
import { extension } from '../../core/session/extension.ts';
import type { ChunkSource } from '../../core/session/chunk-source.ts';
import type { Session } from '../session.ts';

interface DomainOptions {
  readonly fromDomains?: ChunkSource;
  readonly onFetched?: (chunk: FetchedChunk) => void;
}

/**
 * Runs an operation with the other domains of the realm if the option says so, and closes them. With `-v` or `--json`,
 * each fetched chunk is listed.
 */
export async function withDomains<T>(
  { context, output, verbosity }: Pick<Session, 'context' | 'output' | 'verbosity'>,
  flags: { readonly fromDomains?: boolean },
  run: (options: DomainOptions) => Promise<T>,
): Promise<T> {
  if (flags.fromDomains !== true) return await run({});
  const { reportFetched } = await import('../reports/fetched-report.ts');
  const fromDomains = await extension().openSource(context);
  try {
    return await run({ fromDomains, onFetched: (chunk) => reportFetched(output, chunk, verbosity) });
  } finally {
    await fromDomains.close();
  }
}
