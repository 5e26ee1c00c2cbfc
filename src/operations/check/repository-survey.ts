import { UnsupportedFormatError, isAbsent } from '../../errors.ts';
import type { LdmError } from '../../errors.ts';
import type { PackContents } from '../../format/pack.ts';
import type { ConfigProblem } from '../../repository/config-file.ts';
import { condemnationName, deletedName, manifestCopyName, segmentName, snapshotName } from '../../format/layout.ts';
import type { Listing } from '../../repository/listing.ts';
import type { Repository } from '../../repository/repository.ts';
import type { Finding } from './findings.ts';

/** The contents of the small files of a repository, and the problems found in them. */
export interface Survey {
  readonly findings: readonly Finding[];
  /** The packs listed in readable segments, by id. */
  readonly packs: ReadonlyMap<string, PackContents>;
  readonly snapshotCount: number;
}

/** Reads every configuration, manifest, segment and checkpoint. Throws errors for which `isFinding` is false. */
export async function surveyRepository(
  repository: Repository,
  listing: Listing,
  isFinding: (error: unknown) => error is LdmError,
): Promise<Survey> {
  const { files } = repository;
  const findings: Finding[] = [];
  for (const { name, message } of await configProblems(files, isFinding)) {
    findings.push({ severity: 'error', kind: 'config-damaged', file: name, message });
  }
  for (const [id, message] of listing.condemned.damaged) {
    findings.push({ severity: 'error', kind: 'condemnation-damaged', file: condemnationName(id), message });
  }
  const attempt = async (kind: string, file: string, read: () => Promise<unknown>): Promise<boolean> => {
    try {
      await twiceIf(isFinding, read);
      return true;
    } catch (error) {
      // Deleted or replaced since the listing.
      if (isAbsent(error)) return false;
      // An unknown version is not damage. A checkpoint is the exception: its name is not a digest, so a corrupt version
      // field looks the same, and dropping it only costs a rebuild.
      const isImage = kind === 'checkpoint-damaged' && error instanceof UnsupportedFormatError;
      if (!(isImage || isFinding(error))) throw error;
      const snapshots = kind === 'snapshot-damaged' ? { snapshots: [file.slice(file.indexOf('/') + 1)] } : {};
      findings.push({ severity: 'error', kind, file, message: error.message, ...snapshots });
      return false;
    }
  };
  let snapshotCount = 0;
  for (const id of listing.snapshotIds) {
    if (await attempt('snapshot-damaged', snapshotName(id), async () => files.readManifest(id))) snapshotCount += 1;
  }
  for (const id of listing.deletedIds) {
    await attempt('deleted-snapshot-damaged', deletedName(id), async () => files.readManifest(id, { deleted: true }));
  }
  for (const id of listing.manifestCopyIds) {
    await attempt('snapshot-copy-damaged', manifestCopyName(id), async () => files.readManifestCopy(id));
  }
  const packs = new Map<string, PackContents>();
  for (const id of listing.segmentIds) {
    await attempt('segment-damaged', segmentName(id), async () => {
      for (const pack of await files.readSegment(id)) packs.set(pack.id, pack);
    });
  }
  const segmentIds = new Set(listing.segmentIds);
  for (const name of listing.checkpoints) {
    await attempt('checkpoint-damaged', name, async () => repository.readCheckpoint(name, segmentIds));
  }
  return { findings, packs, snapshotCount };
}

async function configProblems(
  files: Repository['files'],
  isFinding: (error: unknown) => boolean,
): Promise<readonly ConfigProblem[]> {
  const inspect = async (): Promise<readonly ConfigProblem[]> => files.inspectConfig(isFinding);
  return (await inspect()).length === 0 ? [] : await inspect();
}

/** Reports a problem only if two reads fail: memory and cables can fail too. */
async function twiceIf(isFinding: (error: unknown) => boolean, read: () => Promise<unknown>): Promise<void> {
  try {
    await read();
  } catch (error) {
    if (!isFinding(error)) throw error;
    await read();
  }
}
