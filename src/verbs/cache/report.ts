import type { CachedRepositoryFiles } from './cache.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { countNoun, formatTime, shortId } from '../../console/output/words.ts';

/** Reports `cache`: one line or JSON object per repository. */
export function reportCaches(output: Output, caches: readonly CachedRepositoryFiles[], isCleaned: boolean): void {
  for (const { repositoryId, path, files, sizeBytes, lastUsed } of caches) {
    output.message('cache', {
      repository_id: repositoryId,
      path,
      files,
      bytes: sizeBytes,
      last_used: lastUsed,
      removed: isCleaned,
    });
  }
  const rows = caches.map(({ repositoryId, files, sizeBytes, lastUsed }) => [
    shortId(repositoryId),
    String(files),
    formatBytes(sizeBytes),
    lastUsed === undefined ? '' : formatTime(lastUsed),
  ]);
  const head = ['Repository', 'Files', 'Size', 'Last used'];
  if (rows.length > 0) output.line(formatTable(rows, { head, rightAligned: [1, 2] }));
  const totalBytes = caches.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  output.remark(`${isCleaned ? 'removed ' : ''}${countNoun(caches.length, 'cache')}, ${formatBytes(totalBytes)}`);
}
