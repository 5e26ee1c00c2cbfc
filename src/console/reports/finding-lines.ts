import { displayPath, escapeForTerminal } from '../output/display-path.ts';
import type { Finding } from '../../core/session/findings.ts';
import { pathFields } from '../output/byte-fields.ts';
import { formatCount, shortId } from '../output/words.ts';
import { fileOf, impactOf, messageOf } from './finding-text.ts';
import { withoutIds } from './without-ids.ts';

const SHOWN_PATHS = 20;

/** Says what helps against damage that `ldm repair` cannot repair. Undefined if it can repair all of this. */
export function whatHelps(findings: readonly Finding[]): string | undefined {
  const errors = findings.filter(({ severity }) => severity === 'error');
  return (errors.length > 0 ? errors : findings).every(({ kind }) => OTHERWISE.has(kind)) ? undefined : WHAT_HELPS;
}

/** What `ldm repair` repairs, and what says itself what helps. */
const OTHERWISE: ReadonlySet<Finding['kind']> = new Set<Finding['kind']>([
  'copy-damaged',
  'key-damaged',
  'copies-missing',
  'metadata-outdated',
  'metadata-damaged',
  'realm-damaged',
  'realm-missing',
  'lender-unreachable',
  'hold-damaged',
  'hold-note-damaged',
]);

const WHAT_HELPS =
  'What `ldm repair` cannot restore comes back with the next backup of the same files, if they still contain it, or with `ldm copy` from another repository that has these snapshots. Then delete the snapshots that `ldm check` still names.';

/** Formats findings as text: grouped by kind, errors first, each with the affected files. Ids of chunks only with `-v`. */
export function formatFindings(findings: readonly Finding[], verbosity: number): string[] {
  const groups = new Map<string, string[]>();
  for (const finding of findings.toSorted(errorsFirst)) {
    const heading = `${finding.severity}: ${finding.kind}`;
    groups.set(heading, [...(groups.get(heading) ?? []), formatFinding(finding, verbosity).join('\n')]);
  }
  return [...groups].flatMap(([heading, members]) => [`${heading} (${formatCount(members.length)})`, ...members]);
}

export function findingFields(finding: Finding): Record<string, unknown> {
  const { snapshots, paths, pathCount } = impactOf(finding);
  return {
    severity: finding.severity,
    kind: finding.kind,
    message: messageOf(finding),
    file: fileOf(finding),
    snapshots,
    paths: paths?.map(({ snapshot, path }) => ({ snapshot, ...pathFields(path) })),
    path_count: pathCount,
  };
}

function errorsFirst(left: Finding, right: Finding): number {
  return Number(left.severity === 'warning') - Number(right.severity === 'warning');
}

function formatFinding(finding: Finding, verbosity: number): string[] {
  const file = fileOf(finding);
  const message = verbosity > 0 ? messageOf(finding) : withoutIds(messageOf(finding));
  const { snapshots = [], paths = [], pathCount = paths.length } = impactOf(finding);
  const place = file === undefined || message.includes(file) ? '' : `${escapeForTerminal(file)}: `;
  const lines = [`  ${place}${escapeForTerminal(message)}`];
  if (snapshots.length > 0)
    lines.push(`    affects ${snapshots.length === 1 ? 'snapshot' : 'snapshots'} ${snapshots.map(shortId).join(', ')}`);
  for (const { snapshot, path } of paths.slice(0, SHOWN_PATHS))
    lines.push(`    ${shortId(snapshot)}${path === '' ? ': everything' : `:${displayPath(path)}`}`);
  const hidden = pathCount - Math.min(paths.length, SHOWN_PATHS);
  if (hidden > 0) lines.push(`    ... and ${formatCount(hidden)} more`);
  return lines;
}
