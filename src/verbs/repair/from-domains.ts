import { isDamage } from '../../core/errors.ts';
import type { FilterState } from '../../core/ldm/filter-state.ts';
import type { ChunkKind } from '../../core/format/chunk-kind.ts';
import { forEachChild } from '../../core/format/tree/tree.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { StateReader } from '../../core/repository/state-reader.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { Caller } from '../../core/session/caller.ts';
import { EntrySet } from '../../core/snapshots/live-walk.ts';
import { ChunkGatherer } from '../../core/healing/chunk-gatherer.ts';
import { DomainChunks } from '../../core/healing/domain-chunks.ts';
import type { DomainOptions, FetchedChunks } from '../../core/healing/domain-chunks.ts';
import { FetchedPacks } from '../../core/healing/fetched-packs.ts';
import type { PackSurvey } from './pack-survey.ts';
import { predictState } from './prediction.ts';

/**
 * Fetches what the snapshots need and what a repair could not bring back from the packs that are there, and stores it
 * in new packs with a segment. Stores nothing if a repair finds everything. Nothing is removed or set aside, so an
 * interruption leaves at most packs that no segment lists, or chunks that are stored twice.
 */
export async function fetchLost(
  caller: Caller,
  repository: Repository,
  options: DomainOptions & { readonly opened: OpenedState; readonly survey: PackSurvey; readonly dryRun: boolean },
): Promise<FetchedChunks> {
  const { opened, survey, dryRun } = options;
  const chunks = new DomainChunks(options, repository.hasher, caller);
  const predicted = await predictState(repository, { opened, survey, onTree: () => undefined });
  if (predicted.state.isComplete) return chunks.result;
  beginPhase(caller.progress, 'asking other domains');
  const packs = new FetchedPacks(repository, dryRun ? async () => undefined : repository.assertLocked);
  try {
    await new NeededWalk(predicted, new ChunkGatherer(chunks, packs)).run(new Pacer(caller));
    await packs.finish();
  } catch (error) {
    // The first error is the one to report.
    await packs.abandon().catch(() => undefined);
    throw error;
  }
  beginPhase(caller.progress, 'repairing');
  return chunks.result;
}

/** Walks all snapshots, and fetches every tree and chunk that is in no pack or cannot be read. */
class NeededWalk {
  readonly #state: FilterState;
  readonly #reader: StateReader;
  readonly #gatherer: ChunkGatherer;
  readonly #reached = new EntrySet();
  /** Stored trees that are not visited yet. */
  readonly #trees: number[] = [];

  constructor({ state, reader }: Pick<OpenedState, 'state' | 'reader'>, gatherer: ChunkGatherer) {
    this.#state = state;
    this.#reader = reader.withLastResort(gatherer.fetch);
    this.#gatherer = gatherer;
  }

  async run(pacer: Pacer): Promise<void> {
    for (const { tree } of this.#state.snapshots.values()) this.#reach('tree', tree, 0);
    for (;;) {
      const stored = this.#gatherer.isIdle ? this.#trees.pop() : undefined;
      if (stored !== undefined) await this.#visitStored(stored);
      else if (this.#gatherer.isIdle) return;
      else await this.#gatherer.fetchWanted((tree) => this.#visit(tree));
      const pause = pacer.pause();
      if (pause !== undefined) await pause;
    }
  }

  #reach(kind: ChunkKind, ids: Uint8Array, offset: number): void {
    if (!this.#reader.has(ids, offset)) return this.#gatherer.want(kind, ids, offset);
    if (kind === 'data') return;
    const entry = this.#state.filter.find(ids, offset);
    if (this.#reached.add(entry)) this.#trees.push(entry);
  }

  async #visitStored(entry: number): Promise<void> {
    try {
      this.#visit(await this.#reader.readTree(entry));
    } catch (error) {
      // The repair names it among what remains.
      if (!isDamage(error)) throw error;
    }
  }

  #visit(tree: Uint8Array): void {
    try {
      forEachChild(tree, (kind, idOffset) => this.#reach(kind, tree, idOffset));
    } catch (error) {
      // As above: its bytes give its id, so no other domain has better ones.
      if (!isDamage(error)) throw error;
    }
  }
}
