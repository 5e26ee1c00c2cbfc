import { UsageError } from '../../../core/errors.ts';
import { CHUNK_ID_BYTES } from '../../../core/format/constants.ts';
import { ID_BYTES } from '../../../core/ldm/positions.ts';
import { CoordinatorError } from '../../coordination/realm-errors.ts';
import type { OpenedState } from '../../../core/repository/opened-state.ts';
import type { Repository } from '../../../core/repository/repository.ts';
import { findEntry } from '../../../core/repository/snapshot-path.ts';
import { readTree } from '../../../core/repository/tree-walk.ts';
import { byteStringOf, textOf } from '../../../core/util/byte-string.ts';
import type { PathInput } from '../../../core/util/byte-string.ts';
import { withRepository } from '../../../core/session/session.ts';
import { Pacer } from '../../../core/util/pacer.ts';
import { beginPhase } from '../../../core/session/progress.ts';
import type { OperationContext } from '../../../core/session/context.ts';
import { FileCutter } from '../../../core/saving/file-cutter.ts';
import { isSnapshotName, parseSelector, selectSnapshot } from '../../../core/snapshots/select-snapshots.ts';
import { Domains } from '../../domains/domains.ts';
import { explainLookUp } from './explain.ts';
import type { Explanation } from './explain.ts';
import { lookUp } from './look-up.ts';
import type { LookUpOptions, LookedUp } from './look-up.ts';
import { NeededBy } from './needed-by.ts';
import { Ranges } from '../../domains/ranges.ts';
import type { DomainRange, FileRange } from '../../domains/ranges.ts';
import { withRealm } from '../../domains/realm.ts';
import { readMembership } from '../../domains/membership-file.ts';

export interface LocateOptions extends Partial<LookUpOptions> {
  /** A chunk id (40 hex digits), `SEL:path` of a file in a snapshot, or a file on this machine. Undefined: only `range`. */
  readonly target?: PathInput | undefined;
  /** Domains without files here are asked only about chunks that no other domain has. */
  readonly range?: FileRange | undefined;
  readonly explains?: boolean;
}

/** A chunk that was located. */
export interface LocatedChunk extends LookedUp {
  /** Where it begins in the file; undefined for an id. */
  readonly offset: number | undefined;
  /** Local snapshots that need it. */
  readonly snapshotIds: readonly string[];
  readonly explanation: Explanation | undefined;
}

export interface LocateResult {
  readonly chunks: number;
  readonly absent: number;
  readonly unknown: number;
  /** How many exact questions were asked of other domains, one for each chunk. */
  readonly questions: number;
  /** What the other domains have published about the range. */
  readonly ranges: readonly DomainRange[];
}

const DEADLINE_MS = 5000;
const HEX_ID = /^[0-9a-f]{40}$/i;

interface SoughtChunk {
  readonly id: Uint8Array;
  readonly offset: number | undefined;
}

/**
 * Locates chunks in this repository and, if it is a member of a realm, in the other domains.
 * @throws UsageError if the target is none of the three
 */
export async function locate(
  context: OperationContext,
  options: LocateOptions,
  onChunk: (chunk: LocatedChunk) => void,
): Promise<LocateResult> {
  return await withRepository(context, 'read', async (repository) => {
    const opened = await repository.openState();
    const sought = options.target === undefined ? [] : await targetChunks(context, repository, opened, options.target);
    beginPhase(context.progress, 'locating');
    const lookUpOptions = {
      ask: options.ask ?? 'maybe',
      deadlineMs: options.deadlineMs ?? DEADLINE_MS,
      usesMemory: options.ask !== 'all',
    } as const;
    const ids = sought.map(({ id }) => id);
    const { found, questions, ranges } = await lookUpAnywhere(context, repository, opened, ids, {
      ...lookUpOptions,
      range: options.range,
    });
    const neededBy = await readNeededBy(context, repository, opened, found);
    for (const [index, chunk] of found.entries()) {
      const entry = opened.state.filter.find(chunk.id, 0);
      const explanation = options.explains === true ? explainLookUp(opened.state.filter, chunk.id) : undefined;
      const snapshotIds = entry < 0 ? [] : neededBy.snapshotsOf(entry);
      onChunk({ ...chunk, offset: sought[index]!.offset, snapshotIds, explanation });
    }
    const count = (verdict: LookedUp['verdict']): number => found.filter((each) => each.verdict === verdict).length;
    return { chunks: found.length, absent: count('absent'), unknown: count('unknown'), questions, ranges };
  });
}

async function lookUpAnywhere(
  context: OperationContext,
  repository: Repository,
  opened: OpenedState,
  ids: readonly Uint8Array[],
  options: LookUpOptions & Pick<LocateOptions, 'range'>,
): Promise<{ readonly found: LookedUp[] } & Pick<LocateResult, 'questions' | 'ranges'>> {
  // Without the keys of a realm, there are no other domains.
  if (repository.config.realmId === undefined) {
    return { found: await lookUp(opened, NO_DOMAINS, ids, options), questions: 0, ranges: [] };
  }
  try {
    if ((await readMembership(repository)) === undefined)
      throw new CoordinatorError('this repository has not joined it');
    return await lookUpInRealm(context, repository, opened, ids, options);
  } catch (error) {
    if (!(error instanceof CoordinatorError)) throw error;
    // This repository can answer all the same; of the others nothing is known.
    const noDomains = { ...NO_DOMAINS, unknown: new Map([['realm', error.message]]) };
    return { found: await lookUp(opened, noDomains, ids, options), questions: 0, ranges: [] };
  }
}

async function lookUpInRealm(
  context: OperationContext,
  repository: Repository,
  opened: OpenedState,
  ids: readonly Uint8Array[],
  options: LookUpOptions & Pick<LocateOptions, 'range'>,
): ReturnType<typeof lookUpAnywhere> {
  return await withRealm(repository, async (realm) => {
    const domains = new Domains(context, realm);
    try {
      await domains.readRecords();
      const { range } = options;
      const ranges = range && (await Ranges.load(domains, realm.keys, range));
      const found = await lookUp(opened, domains, ids, { ...options, isLeftOut: ranges?.isLeftOut });
      return { found, questions: domains.questionCount, ranges: ranges?.domains ?? [] };
    } finally {
      await domains.close();
    }
  });
}

/** Of a repository that has not joined a realm. */
const NO_DOMAINS: Pick<Domains, 'all' | 'unknown' | 'candidates' | 'ask' | 'answers'> = {
  all: [],
  unknown: new Map(),
  candidates: async (ids) => ids.map(() => []),
  ask: async () => [],
  answers: async () => undefined,
};

async function readNeededBy(
  context: OperationContext,
  repository: Repository,
  opened: OpenedState,
  found: readonly LookedUp[],
): Promise<NeededBy> {
  const { listings } = await repository.files.readSnapshots();
  const entries = found.map(({ id }) => opened.state.filter.find(id, 0)).filter((entry) => entry >= 0);
  const pacer = new Pacer(context);
  return await NeededBy.read(opened, entries.length === 0 ? [] : listings, entries, () => pacer.pause());
}

async function targetChunks(
  context: OperationContext,
  repository: Repository,
  opened: OpenedState,
  target: PathInput,
): Promise<SoughtChunk[]> {
  const text = byteStringOf(target);
  if (HEX_ID.test(text)) return [{ id: Buffer.from(text, 'hex'), offset: undefined }];
  const { name, path } = parseSelector(target);
  // A file may have a name like one of a snapshot; `./` before it tells them apart.
  if (text.includes(':') && isSnapshotName(name)) {
    const listing = selectSnapshot(context, await repository.files.readSnapshots(), name);
    const { entry } = await findEntry(async (treeId) => readTree(opened.reader, treeId), listing, path);
    if (entry.type !== 'file') {
      throw new UsageError(`${textOf(text)} is not a file`, { hint: 'Name a file in the snapshot.' });
    }
    return chunksOfEntry(opened, entry.chunkIds);
  }
  const pacer = new Pacer(context);
  const chunks: SoughtChunk[] = [];
  for (const { id, offset } of new FileCutter(repository).chunks(text)) {
    chunks.push({ id, offset });
    await pacer.pause();
  }
  return chunks;
}

function chunksOfEntry({ state: { filter } }: OpenedState, chunkIds: Uint8Array): SoughtChunk[] {
  const chunks: SoughtChunk[] = [];
  // Unknown after a chunk that is missing here, because its length is unknown.
  let offset: number | undefined = 0;
  for (let at = 0; at < chunkIds.length; at += CHUNK_ID_BYTES) {
    const id = chunkIds.slice(at, at + ID_BYTES);
    chunks.push({ id, offset });
    const entry = filter.find(id, 0);
    offset =
      offset === undefined || entry < 0 || !filter.hasLocation(entry) ? undefined : offset + filter.lengthOf(entry);
  }
  return chunks;
}
