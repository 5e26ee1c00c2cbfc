import { CorruptDataError, UnsupportedFormatError, isAbsent } from '../errors.ts';
import type { LdmError } from '../errors.ts';
import type { PackContents } from '../format/pack.ts';
import type { Listing } from '../repository/listing.ts';
import type { Repository } from '../repository/repository.ts';
import { extensionOf } from '../session/extension.ts';
import type { Finding, UnreadableFile } from '../session/findings.ts';

/**
 * Memory for blocks of trees, so that each is read once: with its pack, when the state is opened, or when references
 * are counted again. It suffices for about half a million files. Of more trees, some are read again: memory must not
 * grow with the repository.
 */
export const SHARED_BLOCK_BYTES: number = 64 * 1024 * 1024;

type SnapshotFinding = Extract<UnreadableFile, { readonly snapshotId: string }>['kind'];

/** The contents of the small files of a repository, and the problems found in them. */
export interface Survey {
  readonly findings: readonly Finding[];
  /** The packs listed in readable segments, by id. */
  readonly packs: ReadonlyMap<string, PackContents>;
  readonly snapshotCount: number;
}

/** Reads every configuration, key file, manifest, segment and checkpoint. Throws errors for which `isFinding` is false. */
export async function surveyRepository(
  repository: Repository,
  listing: Listing,
  isFinding: (error: unknown) => error is LdmError,
): Promise<Survey> {
  const { files } = repository;
  const findings = await problemsAtTop(repository, isFinding);
  findings.push(...commitProblems(listing, isFinding));
  for (const [condemnationId, error] of listing.condemned.damaged) {
    if (!isFinding(error)) throw error;
    findings.push({ severity: 'error', kind: 'condemnation-damaged', condemnationId, reason: error.message });
  }
  const attempt = async (
    findingFor: (reason: string) => UnreadableFile,
    reading: Promise<unknown>,
    isFound: (error: unknown) => error is LdmError = isFinding,
  ): Promise<boolean> => {
    try {
      await reading;
      return true;
    } catch (error) {
      // Deleted or replaced since the listing.
      if (isAbsent(error)) return false;
      if (!isFound(error)) throw error;
      findings.push(findingFor(error.message));
      return false;
    }
  };
  /** Returns how many of the manifests are readable. */
  const attemptManifests = async (
    ids: readonly string[],
    kind: SnapshotFinding,
    read: (snapshotId: string) => Promise<unknown>,
  ): Promise<number> => {
    let count = 0;
    for await (const [snapshotId, reading] of files.prefetch(ids, read)) {
      if (await attempt((reason) => ({ severity: 'error', kind, snapshotId, reason }), reading)) count += 1;
    }
    return count;
  };
  const { snapshotIds, deletedIds, manifestCopyIds } = listing;
  const snapshotCount = await attemptManifests(snapshotIds, 'snapshot-damaged', async (id) => files.readManifest(id));
  const deleted = { deleted: true };
  await attemptManifests(deletedIds, 'deleted-snapshot-damaged', async (id) => files.readManifest(id, deleted));
  await attemptManifests(manifestCopyIds, 'snapshot-copy-damaged', async (id) => files.readManifestCopy(id));
  const packs = new Map<string, PackContents>();
  const readSegment = async (id: string): Promise<PackContents[]> => files.readSegment(id);
  for await (const [segmentId, reading] of files.prefetch(listing.segmentIds, readSegment)) {
    const adding = reading.then((contents) => addPacks(repository, packs, contents));
    await attempt((reason) => ({ severity: 'error', kind: 'segment-damaged', segmentId, reason }), adding);
  }
  const segmentIds = new Set(listing.segmentIds);
  // An unknown version is not damage. A checkpoint is the exception: its name is not a digest, so a corrupt version
  // field looks the same, and dropping it only costs a rebuild.
  const isImageFinding = (error: unknown): error is LdmError =>
    error instanceof UnsupportedFormatError || isFinding(error);
  for (const name of listing.checkpoints) {
    await attempt(
      (reason) => ({ severity: 'error', kind: 'checkpoint-damaged', name, reason }),
      files.readCheckpoint(name, segmentIds),
      isImageFinding,
    );
  }
  return { findings, packs, snapshotCount };
}

/**
 * Adds the packs of a segment. The first listing of a pack counts, as it does when the state is opened; it is verified
 * with the pack.
 * @throws CorruptDataError if an earlier segment lists one of them differently
 */
function addPacks(
  { packs: store }: Repository,
  packs: Map<string, PackContents>,
  contents: readonly PackContents[],
): void {
  let contradicted: string | undefined;
  for (const pack of contents) {
    const known = packs.get(pack.id);
    if (known === undefined) packs.set(pack.id, pack);
    else if (store.digestOfListing(known) !== store.digestOfListing(pack)) contradicted ??= pack.id;
  }
  if (contradicted !== undefined)
    throw new CorruptDataError(`it contradicts another segment about pack ${contradicted}`);
}

function commitProblems({ commits }: Listing, isFinding: (error: unknown) => boolean): Finding[] {
  return [...(commits?.damaged ?? [])].map(([name, error]) => {
    if (!isFinding(error)) throw error;
    return { severity: 'error', kind: 'commit-damaged', name, reason: error.message };
  });
}

async function problemsAtTop(
  repository: Repository,
  isFinding: (error: unknown) => error is LdmError,
): Promise<Finding[]> {
  const { files } = repository;
  const configs = (await files.inspectConfig(isFinding)).map(({ name, message: reason, isOutdated }): Finding => {
    if (isOutdated === true) return { severity: 'warning', kind: 'config-outdated', name };
    return { severity: 'error', kind: 'config-damaged', name, reason };
  });
  const keys = await keyProblems(files, isFinding);
  const membership = (await extensionOf(repository)?.findMembershipDamage(repository, isFinding)) ?? [];
  return [...configs, ...keys, ...membership];
}

/** A key file of an unknown version is none of them: a later version of the program can use it. */
async function keyProblems(files: Repository['files'], isFinding: (error: unknown) => boolean): Promise<Finding[]> {
  const damaged = (await files.unusableKeys()).filter(({ error }) => isFinding(error));
  const unused = await files.unusedKeyIds();
  return [
    ...damaged.map(({ id: keyId, error }): Finding => {
      const isUnread = !(error instanceof CorruptDataError);
      return { severity: 'error', kind: 'key-damaged', keyId, isUnread, reason: error.message };
    }),
    ...unused.map((keyId): Finding => ({ severity: 'warning', kind: 'key-unused', keyId })),
  ];
}
