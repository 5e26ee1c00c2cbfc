import { isDamage } from '../../core/errors.ts';
import { measureRelease } from '../../core/ldm/fold-release.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';

/** What a repository keeps for another domain. */
export interface HeldFor {
  /** 64 hex digits. */
  readonly domainId: string;
  readonly name: string;
  readonly holdCount: number;
  /** Bytes in packs of what only these holds need. Undefined if the list of a hold cannot be read. */
  readonly storedBytes: number | undefined;
}

/** Measures what would be freed if all holds of a domain ended, for each domain by name. Reads the lists of the holds. */
export async function measureHeld(
  { state, reader }: OpenedState,
  listings: readonly SnapshotListing[],
): Promise<HeldFor[]> {
  const byDomain = new Map<string, { readonly name: string; readonly ids: string[] }>();
  for (const { id, snapshot } of listings) {
    const { hold } = snapshot;
    if (hold === undefined) continue;
    const known = byDomain.get(hold.domainId) ?? { name: hold.name, ids: [] };
    known.ids.push(id);
    byDomain.set(hold.domainId, known);
  }
  const held: HeldFor[] = [];
  for (const [domainId, { name, ids }] of byDomain)
    held.push({ domainId, name, holdCount: ids.length, storedBytes: await freedBy(ids, { state, reader }) });
  return held.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

async function freedBy(
  ids: readonly string[],
  { state, reader }: Pick<OpenedState, 'state' | 'reader'>,
): Promise<number | undefined> {
  if (ids.some((id) => state.unreadableTrees.has(rootOf(state, id)))) return undefined;
  try {
    return (await measureRelease(state, ids, reader.readTree)).storedBytes;
  } catch (error) {
    if (!isDamage(error)) throw error;
    return undefined;
  }
}

function rootOf({ snapshots }: OpenedState['state'], id: string): string {
  return Buffer.from(snapshots.get(id)!.tree).toString('hex');
}
