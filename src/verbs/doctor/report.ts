import type { Diagnosis, DiagnosisStatus, FoundRepository, NativePart } from './doctor.ts';
import { LdmError } from '../../core/errors.ts';
import { describeListing } from '../../core/snapshots/select-snapshots.ts';
import { enumerate } from '../../core/snapshots/unmatched-filter.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { hintFor } from '../../console/advice.ts';
import type { LastCheck } from '../../console/check-memory.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { describeVersion } from '../../console/version.ts';
import { countNoun, formatPercent, formatTime } from '../../console/output/words.ts';

interface Line {
  readonly subject: string;
  readonly status: DiagnosisStatus;
  readonly message: string;
}

const ZSTD = {
  node: 'that of Node',
  system: 'the library of the system',
  package: 'the package @toondepauw/node-zstd',
};

const NATIVE_PARTS: Readonly<Record<NativePart, string>> = {
  blake3: '@napi-rs/blake-hash is missing: reading and writing packs takes longer',
  argon2: '@node-rs/argon2 is missing: unlocking takes longer',
  'system-calls': 'koffi is missing: times are restored to the millisecond only, and backups take longer',
};

const CHECK_AGE_DAYS_MAX = 92;
const DAY_MS = 86_400_000;

/** Reports each subject in a line; with `--quiet`, only those that are not in order. Returns the number of errors. */
export function reportDoctor(
  output: Output,
  diagnoses: readonly Diagnosis[],
  recall: (repositoryId: string) => LastCheck | undefined,
): number {
  const lines: Line[] = diagnoses.map((each) => ({
    subject: each.subject,
    status: each.status,
    message: describe(each),
  }));
  const found = foundRepository(diagnoses);
  if (found !== undefined) {
    const isRecorded = diagnoses.some(({ subject }) => subject === 'verified');
    lines.push(lastCheckLine(recall(found.repositoryId), isRecorded));
  }
  for (const line of lines) output.message('diagnosis', { ...line });
  const countOf = (status: DiagnosisStatus): number => lines.filter((line) => line.status === status).length;
  const errorCount = countOf('error');
  output.message('summary', { num_errors: errorCount, num_warnings: countOf('warning') });
  const shown = output.quiet ? lines.filter(({ status }) => status === 'warning' || status === 'error') : lines;
  const rows = shown.map(({ subject, status, message }) => [status, subject, escapeForTerminal(message)]);
  if (rows.length > 0) output.line(formatTable(rows));
  return errorCount;
}

function foundRepository(diagnoses: readonly Diagnosis[]): FoundRepository | undefined {
  const [about] = diagnoses.filter((each) => each.subject === 'repository');
  return about === undefined || about.found instanceof LdmError ? undefined : about.found;
}

function describe(diagnosis: Diagnosis): string {
  switch (diagnosis.subject) {
    case 'node':
      return (
        describeVersion() +
        (diagnosis.status === 'ok' ? '' : '; use Node 20 (from 20.19), 22 (from 22.12), 24 or later')
      );
    case 'zstd':
      return diagnosis.implementation === undefined
        ? 'missing: install ldm again, with its optional packages, or use Node 22.15 or later'
        : ZSTD[diagnosis.implementation];
    case 'native':
      return diagnosis.missing.map((part) => NATIVE_PARTS[part]).join('; ') || 'all parts are there';
    case 'open-files':
      return `at most ${diagnosis.limit} at a time${diagnosis.status === 'ok' ? '' : '; raise the limit (ulimit -n)'}`;
    case 'repository':
      return diagnosis.found instanceof LdmError ? describeError(diagnosis.found) : describeRepository(diagnosis.found);
    case 'permissions':
      return diagnosis.readOnly.length === 0
        ? 'this user may write to the repository'
        : `this user may not write to ${diagnosis.readOnly.join(', ')}`;
    case 'disk':
      return describeDisk(diagnosis);
    case 'clock':
      return describeClock(diagnosis);
    case 'verified':
      return `${formatPercent(diagnosis.share)} of the data by \`check --max-age\`, the oldest of it at ${formatTime(diagnosis.oldest)}`;
    default:
      return diagnosis.newest === undefined ? 'none' : describeListing(diagnosis.newest);
  }
}

function describeError(error: LdmError): string {
  const hint = hintFor(error);
  return hint === undefined ? error.message : `${error.message}. ${hint}`;
}

function describeRepository(found: FoundRepository): string {
  const { repositoryId, location, isEncrypted, snapshotCount, damagedCount } = found;
  const damaged = damagedCount === 0 ? '' : `, and ${damagedCount} that cannot be read: run \`ldm check\``;
  const kind = isEncrypted ? 'encrypted' : 'not encrypted';
  return `${repositoryId.slice(0, 10)} at ${location}, ${kind}, ${countNoun(snapshotCount, 'snapshot')}${damaged}`;
}

function describeDisk({ freeBytes, totalBytes }: Extract<Diagnosis, { subject: 'disk' }>): string {
  if (freeBytes === undefined || totalBytes === undefined) return 'its free space cannot be found out';
  return `${formatBytes(freeBytes)} of ${formatBytes(totalBytes)} are free (${formatPercent(freeBytes / totalBytes)})`;
}

function describeClock({ status, now, future }: Extract<Diagnosis, { subject: 'clock' }>): string {
  const time = formatTime(now);
  if (status === 'error') return `it is not ${time}: set the clock`;
  return future.length === 0 ? time : `${time}; dated in the future: ${enumerate(future.map(describeListing))}`;
}

/** `isRecorded`: another line says how much is verified, by that check and those before. */
function lastCheckLine(last: LastCheck | undefined, isRecorded: boolean): Line {
  const subject = 'last-check';
  if (last === undefined)
    return { subject, status: 'unknown', message: 'none that this machine remembers; run `ldm check`' };
  const time = formatTime(last.time);
  const errors = last.errorCount === 0 ? 'no errors' : countNoun(last.errorCount, 'error');
  const message = `${time}: ${errors}${isRecorded ? '' : `, ${formatPercent(last.readShare)} of the data read`}`;
  const isOld = Date.now() - Date.parse(last.time) > CHECK_AGE_DAYS_MAX * DAY_MS;
  return { subject, status: last.errorCount > 0 ? 'error' : isOld ? 'warning' : 'ok', message };
}
