import type { Repository } from '../repository/repository.ts';
import type { Notice } from './notices.ts';

/**
 * Returns what reports each group that cannot be reached or written, once, since it may have failed while the command
 * ran; and how many packs have fewer copies than wanted therefore.
 */
export function groupReporter(
  { groups }: Pick<Repository, 'groups'>,
  onNotice: (notice: Notice) => void = () => undefined,
): () => void {
  const reported = new Set<string>();
  let packsReported = 0;
  return () => {
    for (const { entry, offlineReason, writeFailure, isGivenUp } of groups?.all ?? []) {
      const { id, name, place: at } = entry;
      const reason = offlineReason ?? writeFailure;
      if (reason === undefined || isGivenUp || reported.has(id)) continue;
      reported.add(id);
      if (offlineReason === undefined) onNotice({ kind: 'group-not-written', name, reason });
      else onNotice({ kind: 'group-offline', name, at, reason });
    }
    const packCount = groups?.shortCount() ?? 0;
    if (packCount > packsReported) onNotice({ kind: 'fewer-copies', packCount });
    packsReported = packCount;
  };
}
