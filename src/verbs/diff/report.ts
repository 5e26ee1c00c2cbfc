import { EXIT_FAILURE, EXIT_INCOMPLETE, EXIT_SUCCESS } from '../../console/exit-codes.ts';
import type { DiffChange, DiffCounts, DiffResult } from './diff.ts';
import { describeListing } from '../../core/snapshots/select-snapshots.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { displayPath, escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { byteFields, pathFields } from '../../console/output/byte-fields.ts';
import { formatTable } from '../../console/output/tables.ts';
import { countNoun, formatCount, shortId } from '../../console/output/words.ts';

/** Reports `diff`: with `names` the snapshots that are compared, a line for each change as restic prints it, then the counts. */
export function reportDiff(
  output: Output,
  result: DiffResult,
  options: { readonly changes: boolean; readonly names: boolean },
): void {
  const { before, after } = result;
  if (options.names && after !== undefined)
    output.remark(`snapshot ${describeListing(before)} and snapshot ${describeListing(after)}`);
  if (options.changes) {
    for (const change of result.changes) {
      output.message('change', changeFields(change));
      output.line(formatChange(change));
    }
  }
  output.message('statistics', statisticsFields(result));
  const print = (text: string): void => (options.changes ? output.remark(text) : output.line(text));
  if (options.changes && result.changes.length > 0) print('');
  print(formatTable(rowsOf(result)));
  for (const pattern of result.excludesUnmatched)
    output.remark(`the exclude pattern "${escapeForTerminal(pattern)}" matched nothing`);
  if (result.attributesSkipped)
    output.remark('attributes were not compared: the snapshot may lack some, or this machine cannot read them');
}

function formatChange({ path, modifier, type, sourcePath }: DiffChange): string {
  const source = sourcePath === undefined ? '' : `${displayPath(markDirectory(sourcePath, type))} -> `;
  return `${modifier.padEnd(5)}${source}${displayPath(markDirectory(path, type))}`;
}

/** As in restic, a directory ends with a slash. */
function markDirectory(path: ByteString, type: DiffChange['type']): ByteString {
  return (type === 'directory' ? `${path}/` : path) as ByteString;
}

function changeFields({ path, modifier, type, sourcePath }: DiffChange): Record<string, unknown> {
  return {
    ...pathFields(markDirectory(path, type)),
    modifier,
    ...(sourcePath === undefined ? {} : byteFields('source_path', markDirectory(sourcePath, type))),
  };
}

function statisticsFields(result: DiffResult): Record<string, unknown> {
  const { before, after, statistics, unreadableTrees } = result;
  return {
    source_snapshot: before.id,
    target_snapshot: after?.id,
    changed_files: statistics.changedFiles,
    changed_metadata: statistics.changedMetadata,
    changed_types: statistics.changedTypes,
    moved_files: statistics.movedFiles,
    moved_dirs: statistics.movedDirectories,
    added: countFields(statistics.added),
    removed: countFields(statistics.removed),
    unreadable_trees: unreadableTrees,
    excludes_unmatched: result.excludesUnmatched,
    attributes_skipped: result.attributesSkipped,
  };
}

function countFields({ files, directories, others, dataChunks, trees, bytes }: DiffCounts): Record<string, unknown> {
  return { files, dirs: directories, others, data_blobs: dataChunks, tree_blobs: trees, bytes };
}

function rowsOf({ before, after, statistics }: DiffResult): string[][] {
  const { added, removed } = statistics;
  const counts = (...parts: readonly (readonly [number, string])[]): string =>
    parts.map(([count, word]) => `${formatCount(count)} ${word}`).join(', ');
  const { changedFiles, changedMetadata, changedTypes, movedFiles, movedDirectories } = statistics;
  const changed = [
    [
      'files',
      counts([added.files, 'new'], [changedFiles, 'changed'], [movedFiles, 'moved'], [removed.files, 'removed']),
    ],
    ['directories', counts([added.directories, 'new'], [movedDirectories, 'moved'], [removed.directories, 'removed'])],
    ['others', counts([added.others, 'new'], [removed.others, 'removed'], [changedTypes, 'of another type'])],
    ...(changedMetadata === 0 ? [] : [['metadata', counts([changedMetadata, 'changed'])]]),
  ];
  if (after === undefined)
    return [
      ...changed,
      ['data', `${formatBytes(added.bytes)} new or changed, ${formatBytes(removed.bytes)} removed or replaced`],
    ];
  const chunks = ({ bytes, dataChunks, trees }: DiffCounts, id: string): string =>
    `${formatBytes(bytes)} only in ${shortId(id)} (${countNoun(dataChunks, 'chunk')}, ${countNoun(trees, 'tree')})`;
  return [...changed, ['added', chunks(added, after.id)], ['removed', chunks(removed, before.id)]];
}

/** Differences are no failure; what could not be compared is one. */
export function exitCodeOfDiff({
  unreadableTrees,
  unreadableSources,
}: Pick<DiffResult, 'unreadableTrees' | 'unreadableSources'>): number {
  if (unreadableTrees > 0) return EXIT_FAILURE;
  return unreadableSources > 0 ? EXIT_INCOMPLETE : EXIT_SUCCESS;
}
