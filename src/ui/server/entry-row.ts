import { formatPermissions } from '../../console/reports/ls-report.ts';
import type { TreeEntry } from '../../index.ts';
import type { EntryRow } from '../api/browse.ts';
import { namedOf } from './parameters.ts';

export function entryRowOf(entry: TreeEntry): EntryRow {
  const { name, type, user, group, uid, gid } = entry;
  const named = { name: namedOf(name), type };
  // The root of a snapshot.
  if (name === '') return named;
  const modified = new Date(entry.mtimeSeconds * 1000);
  return {
    ...named,
    ...(Number.isNaN(modified.getTime()) ? {} : { time: modified.toISOString() }),
    mode: formatPermissions(entry),
    owner: `${user === '' ? uid : namedOf(user).text}:${group === '' ? gid : namedOf(group).text}`,
    ...(type === 'file' ? { bytes: entry.sizeBytes } : {}),
    ...(type === 'symlink' ? { target: namedOf(entry.linkTarget).text } : {}),
    ...(entry.changedWhileRead ? { isUnstable: true } : {}),
  };
}
