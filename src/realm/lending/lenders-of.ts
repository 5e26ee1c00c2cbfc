import { isDamage } from '../../core/errors.ts';
import type { NamedDomain } from '../../core/format/snapshot-marks.ts';
import type { Snapshot } from '../../core/format/snapshot.ts';
import { forEachChild } from '../../core/format/tree/tree.ts';
import type { PackInfo } from '../../core/ldm/pack-table.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { borrowedPacksOf, knowsAllLoans, readBorrowedBlocks } from './borrowed-packs.ts';

type DomainIds = ReadonlySet<string>;
/** Most trees need no domain, and then all have this set. */
const NONE: DomainIds = new Set();

/** Returns the domains that keep the chunks of packs, and those that are `known`, by name. */
export async function lendersOfPacks(
  repository: Repository,
  packs: readonly PackInfo[],
  known: readonly NamedDomain[] = [],
): Promise<NamedDomain[]> {
  const ids = await domainsByPack(repository, packs);
  return await nameAll(repository, new Set([...ids.values()].flatMap((each) => [...each])), known);
}

/**
 * Returns manifests with the domains that keep chunks of their snapshots. All chunks must be stored or borrowed
 * already. Reads the state again, and each tree once. While a part of that is damaged or missing, the domains that a
 * manifest names already remain.
 */
export async function markLenders<T extends Pick<Snapshot, 'tree' | 'reliesOn'>>(
  repository: Repository,
  manifests: readonly T[],
): Promise<readonly T[]> {
  const opened = await repository.openState();
  const walk = new LenderWalk(opened, await domainsByPack(repository, borrowedPacksOf(opened.state)));
  const marked: T[] = [];
  for (const manifest of manifests) {
    const { reliesOn: earlier = [], ...members } = manifest;
    const ids = await walk.lendersOf(opened.state.filter.find(Buffer.from(manifest.tree, 'hex'), 0));
    const kept =
      walk.isComplete && knowsAllLoans(opened) ? earlier.filter(({ domainId }) => ids.has(domainId)) : earlier;
    const reliesOn = await nameAll(repository, ids, kept);
    marked.push({ ...members, ...(reliesOn.length === 0 ? {} : { reliesOn }) } as unknown as T);
  }
  return marked;
}

/** By the id of the pack. A damaged pack is for a check to report. */
async function domainsByPack(
  repository: Repository,
  packs: readonly PackInfo[],
): Promise<ReadonlyMap<string, DomainIds>> {
  const domains = new Map<string, Set<string>>();
  for await (const { packId, domainId } of readBorrowedBlocks(repository, packs, () => undefined))
    domains.set(packId, (domains.get(packId) ?? new Set()).add(domainId));
  return domains;
}

/** Finds which domains keep chunks below a tree. */
class LenderWalk {
  /** Whether every tree and every chunk was found and read so far. */
  isComplete = true;
  readonly #opened: OpenedState;
  readonly #ofPacks: ReadonlyMap<string, DomainIds>;
  /** By tree, which is walked once. */
  readonly #known = new Map<number, DomainIds>();

  constructor(opened: OpenedState, ofPacks: ReadonlyMap<string, DomainIds>) {
    this.#opened = opened;
    this.#ofPacks = ofPacks;
  }

  async lendersOf(tree: number): Promise<DomainIds> {
    const known = this.#known.get(tree);
    if (known !== undefined) return known;
    const subtrees: number[] = [];
    let found = NONE;
    const add = (ids: DomainIds): void => {
      if ([...ids].some((id) => !found.has(id))) found = new Set([...found, ...ids]);
    };
    const bytes = await this.#read(tree);
    if (bytes !== undefined) {
      const { filter, packs } = this.#opened.state;
      forEachChild(bytes, (kind, idOffset) => {
        const child = filter.find(bytes, idOffset);
        if (kind === 'tree') subtrees.push(child);
        else if (child < 0 || !filter.hasLocation(child)) this.isComplete = false;
        else add(this.#lendersOfPack(packs.get(filter.packIndexOf(child))));
      });
    }
    for (const subtree of subtrees) add(await this.lendersOf(subtree));
    this.#known.set(tree, found);
    return found;
  }

  #lendersOfPack({ id, isBorrowed }: PackInfo): DomainIds {
    if (!isBorrowed) return NONE;
    const ids = this.#ofPacks.get(id);
    if (ids === undefined) this.isComplete = false;
    return ids ?? NONE;
  }

  /** The bytes are valid until the next call. */
  async #read(tree: number): Promise<Uint8Array | undefined> {
    const { state, reader } = this.#opened;
    try {
      if (tree >= 0 && state.filter.hasLocation(tree)) return await reader.readTree(tree);
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
    this.isComplete = false;
    return undefined;
  }
}

/** Named as an earlier snapshot calls them: the realm need not be reachable. */
async function nameAll(repository: Repository, ids: DomainIds, known: readonly NamedDomain[]): Promise<NamedDomain[]> {
  const domains = new Map(known.map((domain) => [domain.domainId, domain]));
  const unnamed = [...ids].filter((id) => !domains.has(id));
  if (unnamed.length > 0) {
    const { listings } = await repository.files.readSnapshots();
    const earlier = new Map(
      listings.flatMap(({ snapshot: { reliesOn = [] } }) => reliesOn).map((each) => [each.domainId, each]),
    );
    for (const domainId of unnamed)
      domains.set(domainId, earlier.get(domainId) ?? { domainId, name: domainId.slice(0, 8) });
  }
  return [...domains.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
