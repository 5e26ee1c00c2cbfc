import type { RepairOptions } from '../../verbs/repair/repair.ts';
import type { Session } from '../session.ts';

type DomainOptions = Pick<RepairOptions, 'fromDomains' | 'onFetched'>;

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
  const [{ openDomainSource }, { reportFetched }] = await Promise.all([
    import('../../realm/lending/domain-source.ts'),
    import('../reports/fetched-report.ts'),
  ]);
  const fromDomains = await openDomainSource(context);
  try {
    return await run({ fromDomains, onFetched: (chunk) => reportFetched(output, chunk, verbosity) });
  } finally {
    await fromDomains.close();
  }
}
