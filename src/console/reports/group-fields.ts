import { displayPath, escapeForTerminal } from '../output/display-path.ts';
import type { SnapshotGroup } from '../../core/snapshots/snapshot-groups.ts';
import { byteListFields } from '../output/byte-fields.ts';

type Common = Pick<SnapshotGroup, 'host' | 'paths' | 'tags'>;

/** What the snapshots of a group have in common, in words. */
export function describeCommon({ host, paths, tags }: Common): string {
  const common = [
    host === undefined ? '' : `host ${escapeForTerminal(host)}`,
    paths === undefined ? '' : paths.map(displayPath).join(', '),
    tags === undefined ? '' : `tags ${tags.length === 0 ? '(none)' : tags.map(escapeForTerminal).join(',')}`,
  ].filter((text) => text !== '');
  return common.length === 0 ? 'all snapshots' : common.join(', ');
}

/** The same with the names of restic. What is not common to a group is null there, or an empty host. */
export function commonFields({ host, paths, tags }: Common): Record<string, unknown> {
  return {
    tags: tags ?? null,
    host: host ?? '',
    ...(paths === undefined ? { paths: null } : byteListFields('paths', paths)),
  };
}
