import { bothOf } from '../util/map-concurrently.ts';
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

type IsFinding = (error: unknown) => error is LdmError;

/** Checkpoints that are read at once. Each takes memory, as the three do that a check compares later. */
const CHECKPOINTS_AT_ONCE = 2;

/** Reads every configuration, key file, manifest, segment and checkpoint. Throws errors for which `isFinding` is false. */
export async function surveyRepository(
  repository: Repository,
  listing: Listing,
  isFinding: IsFinding,
): Promise<Survey> {
  const survey = new SmallFiles(repository, listing, isFinding);
  // On another machine, all kinds are read at once. The findings are in this order all the same.
  const kinds = [
    async () => problemsAtTop(repository, isFinding),
    async () => [...commitProblems(listing, isFinding), ...condemnationProblems(listing, isFinding)],
    async () => survey.readManifests(),
    async () => survey.readSegments(),
    async () => survey.readCheckpoints(),
  ];
  const findings: Finding[] = [];
  for await (const [, reading] of repository.files.prefetch(kinds, async (read) => read())) {
    findings.push(...(await reading));
  }
  return { findings, packs: survey.packs, snapshotCount: survey.snapshotCount };
}

/** Reads the files of a listing, kind by kind, and returns what is wrong with them. */
class SmallFiles {
  readonly packs = new Map<string, PackContents>();
  snapshotCount = 0;
  readonly #repository: Repository;
  readonly #listing: Listing;
  readonly #isFinding: IsFinding;

  constructor(repository: Repository, listing: Listing, isFinding: IsFinding) {
    this.#repository = repository;
    this.#listing = listing;
    this.#isFinding = isFinding;
  }

  async readManifests(): Promise<Finding[]> {
    const findings: Finding[] = [];
    const { files } = this.#repository;
    // All kinds in one list, since each list ends with a wait for its last read.
    for await (const [manifest, reading] of files.prefetch(manifestsIn(this.#listing), async ({ read }) =>
      read(files),
    )) {
      const { kind, snapshotId } = manifest;
      const error = await this.#errorOf(reading);
      if (error instanceof Error) findings.push({ severity: 'error', kind, snapshotId, reason: error.message });
      else if (error === undefined && kind === 'snapshot-damaged') this.snapshotCount += 1;
    }
    return findings;
  }

  async readSegments(): Promise<Finding[]> {
    const findings: Finding[] = [];
    const { files } = this.#repository;
    const readSegment = async (id: string): Promise<PackContents[]> => files.readSegment(id);
    for await (const [segmentId, reading] of files.prefetch(this.#listing.segmentIds, readSegment)) {
      const adding = reading.then((contents) => addPacks(this.#repository, this.packs, contents));
      const error = await this.#errorOf(adding);
      if (error instanceof Error)
        findings.push({ severity: 'error', kind: 'segment-damaged', segmentId, reason: error.message });
    }
    return findings;
  }

  async readCheckpoints(): Promise<Finding[]> {
    const findings: Finding[] = [];
    const { files } = this.#repository;
    const segmentIds = new Set(this.#listing.segmentIds);
    // An unknown version is not damage. A checkpoint is the exception: its name is not a digest, so a corrupt version
    // field looks the same, and dropping it only costs a rebuild.
    const isFinding = (error: unknown): error is LdmError =>
      error instanceof UnsupportedFormatError || this.#isFinding(error);
    const read = async (name: string): Promise<unknown> => files.readCheckpoint(name, segmentIds);
    for await (const [name, reading] of files.prefetch(this.#listing.checkpoints, read, CHECKPOINTS_AT_ONCE)) {
      const error = await this.#errorOf(reading, isFinding);
      if (error instanceof Error)
        findings.push({ severity: 'error', kind: 'checkpoint-damaged', name, reason: error.message });
    }
    return findings;
  }

  /** Returns why a file cannot be read; `absent` if it was deleted or replaced since the listing. */
  async #errorOf(reading: Promise<unknown>, isFinding = this.#isFinding): Promise<LdmError | 'absent' | undefined> {
    try {
      await reading;
      return undefined;
    } catch (error) {
      if (isAbsent(error)) return 'absent';
      if (!isFinding(error)) throw error;
      return error;
    }
  }
}

interface StoredManifest {
  readonly snapshotId: string;
  /** What it is if it cannot be read. */
  readonly kind: SnapshotFinding;
  readonly read: (files: Repository['files']) => Promise<unknown>;
}

function manifestsIn({ snapshotIds, deletedIds, manifestCopyIds }: Listing): StoredManifest[] {
  return [
    ...snapshotIds.map((snapshotId): StoredManifest => ({
      snapshotId,
      kind: 'snapshot-damaged',
      read: async (files) => files.readManifest(snapshotId),
    })),
    ...deletedIds.map((snapshotId): StoredManifest => ({
      snapshotId,
      kind: 'deleted-snapshot-damaged',
      read: async (files) => files.readManifest(snapshotId, { deleted: true }),
    })),
    ...manifestCopyIds.map((snapshotId): StoredManifest => ({
      snapshotId,
      kind: 'snapshot-copy-damaged',
      read: async (files) => files.readManifestCopy(snapshotId),
    })),
  ];
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

function condemnationProblems({ condemned }: Listing, isFinding: IsFinding): Finding[] {
  return [...condemned.damaged].map(([condemnationId, error]) => {
    if (!isFinding(error)) throw error;
    return { severity: 'error', kind: 'condemnation-damaged', condemnationId, reason: error.message };
  });
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
  const [problems, inspected] = await bothOf(files.inspectConfig(isFinding), files.inspectKeys());
  const configs = problems.map(({ name, message: reason, isOutdated }): Finding => {
    if (isOutdated === true) return { severity: 'warning', kind: 'config-outdated', name };
    return { severity: 'error', kind: 'config-damaged', name, reason };
  });
  const keys = keyProblems(inspected, isFinding);
  const membership = (await extensionOf(repository)?.findMembershipDamage(repository, isFinding)) ?? [];
  return [...configs, ...keys, ...membership];
}

/** A key file of an unknown version is none of them: a later version of the program can use it. */
function keyProblems(
  { unusable, unusedIds }: Awaited<ReturnType<Repository['files']['inspectKeys']>>,
  isFinding: (error: unknown) => boolean,
): Finding[] {
  const damaged = unusable.filter(({ error }) => isFinding(error));
  return [
    ...damaged.map(({ id: keyId, error }): Finding => {
      const isUnread = !(error instanceof CorruptDataError);
      return { severity: 'error', kind: 'key-damaged', keyId, isUnread, reason: error.message };
    }),
    ...unusedIds.map((keyId): Finding => ({ severity: 'warning', kind: 'key-unused', keyId })),
  ];
}
