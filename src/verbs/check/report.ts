import { EXIT_DAMAGED, EXIT_SUCCESS } from '../../console/exit-codes.ts';
import type { CheckResult, Finding, VerificationLeft } from './check.ts';
import type { StorageCheckResult } from './check-storage.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { formatDuration } from '../../core/util/format-time.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { countNoun, formatCount, formatPercent } from '../../console/output/words.ts';
import { findingFields, formatFindings, whatHelps } from '../../console/reports/finding-lines.ts';

interface Where {
  /** Whether the repository is on another machine. */
  readonly isRemote: boolean;
}

/** Reports the findings of `check`. They are results, so they go to stdout, even with `--quiet`. */
export function reportCheck(output: Output, result: CheckResult, where: Where): void {
  const errorCount = reportFindings(output, result.findings, {
    snapshots_checked: result.snapshotsChecked,
    chunks_checked: result.chunksChecked,
    packs_checked: result.packsChecked,
    selection: result.isSelection,
    read_data: result.readData,
    packs_read: result.packsRead,
    bytes_read: result.bytesRead,
    pack_bytes: result.packBytes,
    ...leftFields(result),
    foreign_files: result.foreignNames.length,
    ...borrowedFields(result),
  });
  for (const line of describeBorrowed(result)) output.remark(line);
  const read = result.readData ? `, ${formatBytes(result.bytesRead)} read and verified` : '';
  output.remark(
    `checked ${countNoun(result.snapshotsChecked, 'snapshot')}, ${countNoun(result.chunksChecked, 'chunk')}, ${countNoun(result.packsChecked, 'pack')}${read}`,
  );
  if (result.left !== undefined) output.remark(describeLeft(result.left));
  if (result.foreignNames.length > 0) output.remark(describeForeign(result.foreignNames));
  if (errorCount > 0) {
    output.line(`${countNoun(errorCount, 'error')} found`);
    if (where.isRemote && hasDamage(result.findings)) output.line(SAME_TWICE);
    const helps = whatHelps(result.findings);
    if (result.offlineGroups.length > 0) output.line(describeOffline(result.offlineGroups));
    else {
      output.line(
        result.isBeyondRepair
          ? 'Nothing in this repository has what is missing, so `ldm repair` cannot restore it.'
          : '`ldm repair --dry-run` prints what can be repaired.',
      );
      if (helps !== undefined) output.line(helps);
    }
  } else output.remark(`no errors found: ${describeProof(result)}`);
}

function leftFields({ left }: CheckResult): Record<string, unknown> {
  if (left === undefined) return {};
  return {
    max_age_seconds: left.maxAgeMs / 1000,
    packs_left: left.packs,
    bytes_left: left.bytes,
    verification_recorded: left.isRecorded,
  };
}

const DAY_MS = 86_400_000;

/** Says how far the data is verified. */
function describeLeft({ packs, bytes, maxAgeMs }: VerificationLeft): string {
  const span = maxAgeMs > 0 && maxAgeMs % DAY_MS === 0 ? countNoun(maxAgeMs / DAY_MS, 'day') : formatDuration(maxAgeMs);
  const when = maxAgeMs === 0 ? 'by this check' : `within the last ${span}`;
  if (packs === 0) return `all data was verified ${when}`;
  return `not verified ${when}: ${formatBytes(bytes)} in ${countNoun(packs, 'pack')}`;
}

/** What domains keep for each other. */
function describeBorrowed({ borrowed, heldFor }: CheckResult): string[] {
  return [
    ...borrowed.map(
      ({ name, chunks, bytes }) =>
        `relies on the domain ${escapeForTerminal(name)} for ${countNoun(chunks, 'chunk')} (${formatBytes(bytes)})`,
    ),
    ...heldFor.map((name) => `keeps chunks for the domain ${escapeForTerminal(name)}`),
  ];
}

function describeForeign(names: readonly string[]): string {
  const such = names.length === 1 ? `: ${escapeForTerminal(names[0]!)}` : `, such as ${escapeForTerminal(names[0]!)}`;
  return `ignored ${countNoun(names.length, 'file')} that ldm has not written${such}`;
}

function borrowedFields({ borrowed, heldFor }: CheckResult): Record<string, unknown> {
  if (borrowed.length + heldFor.length === 0) return {};
  return {
    relies_on: borrowed.map(({ domainId, name, chunks, bytes }) => ({ domain_id: domainId, name, chunks, bytes })),
    held_for: heldFor,
  };
}

function describeOffline(names: readonly string[]): string {
  const groups = names.length === 1 ? `the group ${names[0]}, which is` : `the groups ${names.join(', ')}, which are`;
  return `What is missing or damaged may be sound in ${groups} offline: make everything available and check again first.`;
}

/** Says what a check without errors has proved. */
function describeProof(result: CheckResult): string {
  if (result.findings.some(({ kind }) => kind === 'lender-unreachable'))
    return 'but the snapshots also need other domains, which could not be asked';
  const { isSelection, snapshotsChecked, readData, packsChecked, packsRead, bytesRead, packBytes } = result;
  const isOne = isSelection && snapshotsChecked === 1;
  const subject = isOne ? 'this snapshot' : `${isSelection ? 'these' : 'the'} snapshots`;
  if (readData && packsRead === packsChecked) return `${subject} can be restored completely`;
  const isThere = `everything that ${subject} ${isOne ? 'needs' : 'need'} is there`;
  if (!readData) return `${isThere}; its content was not read (use --read-data)`;
  const share = formatPercent(packBytes === 0 ? 1 : bytesRead / packBytes);
  return `${isThere}; ${share} of it was read, in ${formatCount(packsRead)} of ${countNoun(packsChecked, 'pack')}`;
}

/** The same for `check --no-key`, with what it cannot see. */
export function reportStorageCheck(output: Output, result: StorageCheckResult, where: Where): void {
  const { filesChecked, packsChecked, bytesRead, checkpointsUnverified } = result;
  const errorCount = reportFindings(output, result.findings, {
    no_key: true,
    encrypted: result.isEncrypted,
    files_checked: filesChecked,
    packs_checked: packsChecked,
    checkpoints_unverified: checkpointsUnverified,
    bytes_read: bytesRead,
    foreign_files: result.foreignNames.length,
  });
  if (result.foreignNames.length > 0) output.remark(describeForeign(result.foreignNames));
  output.remark(
    `checked ${countNoun(filesChecked, 'file')}, ${formatCount(packsChecked)} of them packs: ${formatBytes(bytesRead)} read and compared with the digests in the names`,
  );
  if (checkpointsUnverified > 0)
    output.remark(
      `${countNoun(checkpointsUnverified, 'checkpoint')} could only be read: encrypted, and named by a number`,
    );
  if (errorCount > 0) {
    output.line(`${countNoun(errorCount, 'error')} found`);
    if (where.isRemote && hasDamage(result.findings)) output.line(SAME_TWICE);
    output.line('`ldm check` without --no-key shows which files of which snapshots are affected.');
  } else output.remark('no errors found in the files that are there');
  output.remark(NOT_SEEN);
}

const SAME_TWICE =
  'What is damaged gave the same wrong bytes twice. If a cache, a proxy or the server itself damages data on the way, what is stored may be sound: before `ldm repair`, run `ldm check --no-key` on the machine that stores it, or check over another connection.';

function hasDamage(findings: readonly Finding[]): boolean {
  return findings.some(({ kind, severity }) => severity === 'error' && kind.endsWith('-damaged'));
}

const NOT_SEEN =
  'Missing files and older states that were put back are not seen without a key: `ldm check` on a machine that makes backups sees them.';

/** Prints the findings and the summary. Returns the number of errors. */
function reportFindings(output: Output, findings: readonly Finding[], summary: Record<string, unknown>): number {
  for (const finding of findings) output.message('finding', findingFields(finding));
  const errorCount = findings.filter(({ severity }) => severity === 'error').length;
  output.message('summary', { num_errors: errorCount, num_warnings: findings.length - errorCount, ...summary });
  for (const line of output.json ? [] : formatFindings(findings, output.verbosity)) output.line(line);
  return errorCount;
}

export function exitCodeOfCheck({ findings }: Pick<CheckResult, 'findings'>): number {
  return findings.some(({ severity }) => severity === 'error') ? EXIT_DAMAGED : EXIT_SUCCESS;
}
