import { BackendError } from '../../core/errors.ts';
import { assertEnoughOpenFiles } from '../../core/files/native/open-files.ts';
import { baseName, isCommitName } from '../../core/format/layout.ts';
import { STORAGE_DIRECTORIES, StorageCheck } from '../../core/repository/storage-check.ts';
import type { StoredFile } from '../../core/repository/storage-check.ts';
import type { PackProblem } from '../../core/store/pack-report.ts';
import { packSelector } from '../../core/damage/pack-selector.ts';
import type { ReadData } from '../../core/damage/pack-selector.ts';
import type { Finding } from '../../core/session/findings.ts';
import { assertArguments } from '../../core/session/arguments.ts';
import { uncachedContext } from '../../core/session/context.ts';
import { accessOptions } from '../../core/session/session.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { findMisplaced } from '../../core/damage/misplaced-files.ts';
import { groupReporter } from '../../core/session/group-reporter.ts';
import { assertNotReplaced, rememberEncrypted } from '../../core/session/repository-memory.ts';

export interface StorageCheckOptions {
  /** Which packs are read. Default: all. */
  readonly readData?: ReadData;
}

export interface StorageCheckResult {
  readonly findings: readonly Finding[];
  readonly isEncrypted: boolean;
  /** Names of files in the directories that were read that do not belong to ldm. They are ignored. */
  readonly foreignNames: readonly string[];
  /** All files that were read, with packs and both files of the configuration. */
  readonly filesChecked: number;
  readonly packsChecked: number;
  readonly bytesRead: number;
  /** Encrypted checkpoints, which were read but cannot be verified without the key. */
  readonly checkpointsUnverified: number;
}

/**
 * Verifies without a key that every stored file is as it was written: the digests in the names, and the checksums of the
 * configuration. Changes nothing. It cannot see that files are missing, unless all packs are, or that an older state was put back.
 */
export async function checkStorage(
  context: OperationContext,
  options: StorageCheckOptions = {},
): Promise<StorageCheckResult> {
  assertArguments<StorageCheckOptions>(context, options, { readData: 'readData' });
  const { readData = true } = options;
  assertEnoughOpenFiles();
  beginPhase(context.progress, 'checking');
  const storage = await StorageCheck.open(accessOptions(uncachedContext(context), 'read'), (head) => {
    assertNotReplaced(context, head);
    if (head.isEncrypted) rememberEncrypted(context, head);
  });
  try {
    const packs = await storage.list('packs');
    const isEmptied = packs.length === 0 && (await storage.list('snapshots')).length > 0;
    const isRead = packSelector(readData, new Map(packs.map(({ name, sizeBytes }) => [baseName(name), sizeBytes])));
    const result = await run(
      context,
      storage,
      ({ directory, name }) => directory !== 'packs' || isRead(baseName(name)),
    );
    return isEmptied
      ? { ...result, findings: [...result.findings, { severity: 'error', kind: 'packs-missing' }] }
      : result;
  } finally {
    await storage.close().catch((error: unknown) => {
      if (!(error instanceof BackendError)) throw error;
      context.onNotice?.({ kind: 'lock-not-released', reason: error.message });
    });
  }
}

async function run(
  context: OperationContext,
  storage: StorageCheck,
  isRead: (file: StoredFile) => boolean,
): Promise<StorageCheckResult> {
  const findings: Finding[] = storage.configProblems.map(({ name, message: reason }) => ({
    severity: 'error',
    kind: 'config-damaged',
    name,
    reason,
  }));
  const { isEncrypted } = storage.head;
  groupReporter(storage, context.onNotice)();
  const pacer = new Pacer(context);
  const counts = { filesChecked: 2, packsChecked: 0, bytesRead: 0, checkpointsUnverified: 0 };
  const foreignNames: string[] = [];
  const seen = new Set<string>();
  for (const directory of STORAGE_DIRECTORIES) {
    const listed = await storage.list(directory, foreignNames);
    for (const { name } of listed) seen.add(baseName(name));
    const files = listed.filter(isRead);
    const damagedCopies: DamagedCopy[] = [];
    expectFiles(context, files);
    for (const file of files) {
      const problem = await storage.problemWith(file, () => pacer.pause());
      if (problem !== undefined && file.copy !== undefined) damagedCopies.push({ file, problem });
      else if (problem !== undefined) findings.push(findingAbout(file, problem));
      else if (directory === 'filter' && isEncrypted) counts.checkpointsUnverified += 1;
      counts.filesChecked += 1;
      counts.packsChecked += directory === 'packs' ? 1 : 0;
      counts.bytesRead += file.sizeBytes;
      countFile(context, file);
    }
    for (const finding of findingsAboutCopies(files, damagedCopies)) findings.push(finding);
  }
  for (const finding of findMisplaced(foreignNames, seen)) findings.push(finding);
  return { findings, isEncrypted, foreignNames, ...counts };
}

interface DamagedCopy {
  readonly file: StoredFile;
  readonly problem: Error;
}

/** A pack is damaged if all its copies are. */
function findingsAboutCopies(files: readonly StoredFile[], damaged: readonly DamagedCopy[]): Finding[] {
  const findings = new Map<string, Finding>();
  const damagedFiles = new Set(damaged.map(({ file }) => file));
  const soundNames = new Set(files.filter((file) => !damagedFiles.has(file)).map(({ name }) => name));
  for (const { file, problem } of damaged) {
    const { name, copy } = file;
    const packId = baseName(name);
    const problems = [packProblem(problem)];
    if (!soundNames.has(name)) findings.set(name, findingAbout(file, problem));
    else findings.set(copy!.address, { severity: 'error', kind: 'copy-damaged', packId, group: copy!.group, problems });
  }
  return [...findings.values()];
}

/** The total is known as soon as the packs are listed, which are nearly all of it. */
function expectFiles({ progress }: OperationContext, files: readonly StoredFile[]): void {
  if (progress === undefined || files[0]?.directory !== 'packs') return;
  progress.filesTotal = progress.filesDone + files.length;
  progress.bytesTotal = progress.bytesDone + files.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
}

function countFile({ progress }: OperationContext, { sizeBytes }: StoredFile): void {
  if (progress === undefined) return;
  progress.filesDone += 1;
  progress.bytesDone += sizeBytes;
}

function findingAbout({ directory, name }: StoredFile, problem: Error): Finding {
  const id = baseName(name);
  const found = { severity: 'error', reason: problem.message } as const;
  switch (directory) {
    case 'keys':
      return { ...found, kind: 'key-damaged', keyId: id, isUnread: problem instanceof BackendError };
    case 'condemned':
      return { ...found, kind: 'condemnation-damaged', condemnationId: id };
    case 'manifests.bak':
      return { ...found, kind: 'snapshot-copy-damaged', snapshotId: id };
    case 'snapshots':
      return { ...found, kind: 'snapshot-damaged', snapshotId: id };
    case 'deleted':
      return { ...found, kind: 'deleted-snapshot-damaged', snapshotId: id };
    case 'index':
      return isCommitName(name)
        ? { ...found, kind: 'commit-damaged', name }
        : { ...found, kind: 'segment-damaged', segmentId: id };
    case 'filter':
      return { ...found, kind: 'checkpoint-damaged', name };
    default:
      return {
        severity: 'error',
        kind: 'pack-damaged',
        packId: id,
        problems: [packProblem(problem)],
        impact: undefined,
      };
  }
}

function packProblem(problem: Error): PackProblem {
  return problem instanceof BackendError ? { kind: 'unreadable', reason: problem.message } : { kind: 'digest-differs' };
}
