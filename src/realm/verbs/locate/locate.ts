import { UsageError } from '../../../core/errors.ts';
import type { OpenedState } from '../../../core/repository/opened-state.ts';
import type { Repository } from '../../../core/repository/repository.ts';
import type { PathInput } from '../../../core/util/byte-string.ts';
import { assertArgument, assertArguments } from '../../../core/session/arguments.ts';
import type { OptionKinds } from '../../../core/session/arguments.ts';
import { withRepository } from '../../../core/session/session.ts';
import { Pacer } from '../../../core/util/pacer.ts';
import { beginPhase } from '../../../core/session/progress.ts';
import type { OperationContext } from '../../../core/session/context.ts';
import { explainLookUp } from './explain.ts';
import type { Explanation } from './explain.ts';
import { withLookUps } from './in-realm.ts';
import type { RealmLookUps } from './in-realm.ts';
import { locateFiles } from './located-files.ts';
import type { LocatedFile } from './located-files.ts';
import type { LookUpOptions, LookedUp } from './look-up.ts';
import { NeededBy } from './needed-by.ts';
import { Targets } from './targets.ts';
import type { SoughtChunk } from './targets.ts';
import type { DomainRange, FileRange } from '../../domains/ranges.ts';

export type { LocatedFile } from './located-files.ts';

export interface LocateOptions extends Partial<LookUpOptions> {
  /**
   * A chunk id (40 hex digits), `SEL:path` of a file or directory in a snapshot, or a file or directory on this machine.
   * Undefined: only `range`.
   */
  readonly target?: PathInput | undefined;
  /** Domains without files here are asked only about chunks that no other domain has. */
  readonly range?: FileRange | undefined;
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
  /** Those of several files of a directory count once for each. */
  readonly chunks: number;
  readonly absent: number;
  readonly unknown: number;
  /** Of a directory: the files that could be read, and those that could not, each with a notice. */
  readonly files: { readonly read: number; readonly unreadable: number } | undefined;
  /** How many exact questions were asked of other domains, one for each chunk. */
  readonly questions: number;
  /** What the other domains have published about the range. */
  readonly ranges: readonly DomainRange[];
}

const LOCATE_KINDS: OptionKinds<Required<LocateOptions>> = {
  target: 'path',
  range: { timeMs: 'span', sizeBytes: 'span', pathPrefix: 'beginning' },
  ask: ['maybe', 'all'],
  explains: 'flag',
  deadlineMs: 'number',
  usesMemory: 'flag',
  isLeftOut: 'call',
};

const DEADLINE_MS = 5000;
type Counts = Pick<LocateResult, 'chunks' | 'absent' | 'unknown' | 'files'>;

/**
 * Locates chunks in this repository and, if it is a member of a realm, in the other domains.
 * @param onChunk - called for each chunk of a target that is a chunk or a file, in order
 * @param onFile - called for each file below a target that is a directory
 * @throws UsageError if the target is none that can be located, or a directory is to be explained
 * @throws CoordinatorError if there is only a range, and the realm cannot be reached
 */
export async function locate(
  context: OperationContext,
  options: LocateOptions,
  onChunk: (chunk: LocatedChunk) => void,
  onFile: (file: LocatedFile) => void = () => undefined,
): Promise<LocateResult> {
  assertArguments<LocateOptions>(context, options, LOCATE_KINDS);
  assertArgument('onChunk', onChunk, 'call!');
  assertArgument('onFile', onFile, 'call!');
  return await withRepository(context, 'read', async (repository) => {
    const opened = await repository.openState();
    const { target, range, ask = 'maybe', explains = false, deadlineMs = DEADLINE_MS } = options;
    const found = target === undefined ? undefined : await new Targets(context, repository, opened).find(target);
    if (found?.kind === 'directory' && explains)
      throw new UsageError('the look-ups of a directory cannot be explained', {
        hint: 'Name a file in it, or a chunk.',
      });
    beginPhase(context.progress, 'locating');
    const lookUpOptions = {
      ask,
      deadlineMs,
      explains,
      usesMemory: ask !== 'all',
      range,
      needsRealm: found === undefined,
    };
    return await withLookUps(context, repository, opened, lookUpOptions, async (lookUps) => {
      let counts: Counts = { chunks: 0, absent: 0, unknown: 0, files: undefined };
      if (found?.kind === 'directory') counts = await locateFiles(lookUps, found.files, onFile);
      if (found?.kind === 'chunks')
        counts = await locateChunks({ context, repository, opened, lookUps, explains }, found.chunks, onChunk);
      return { ...counts, questions: lookUps.questions(), ranges: lookUps.ranges };
    });
  });
}

interface ChunkSearch {
  readonly context: OperationContext;
  readonly repository: Repository;
  readonly opened: OpenedState;
  readonly lookUps: RealmLookUps;
  readonly explains: boolean;
}

async function locateChunks(
  { context, repository, opened, lookUps, explains }: ChunkSearch,
  sought: readonly SoughtChunk[],
  onChunk: (chunk: LocatedChunk) => void,
): Promise<Counts> {
  const { filter } = opened.state;
  const found = await lookUps.lookUp(sought.map(({ id }) => id));
  const neededBy = await readNeededBy(context, repository, opened, found);
  for (const [index, chunk] of found.entries()) {
    const entry = filter.find(chunk.id, 0);
    const explanation = explains ? explainLookUp(filter, chunk.id) : undefined;
    const snapshotIds = entry < 0 ? [] : neededBy.snapshotsOf(entry);
    onChunk({ ...chunk, offset: sought[index]!.offset, snapshotIds, explanation });
  }
  const count = (verdict: LookedUp['verdict']): number => found.filter((each) => each.verdict === verdict).length;
  return { chunks: found.length, absent: count('absent'), unknown: count('unknown'), files: undefined };
}

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
