import { holdIdOf } from '../agents/hold-secrets.ts';
import { RefusedError } from '../../core/errors.ts';
import { TooManyHoldsError } from '../coordination/realm-errors.ts';
import type { Hold } from '../../core/format/snapshot-marks.ts';
import { NO_ATTRIBUTES } from '../../core/format/tree/tree-entry.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import { encodeTree } from '../../core/format/tree/tree.ts';
import { encodeSnapshot } from '../../core/format/snapshot.ts';
import type { Snapshot } from '../../core/format/snapshot.ts';
import { openOwnerNames } from '../../core/files/native/owner-names.ts';
import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import { assertCondemnationsReadable } from '../../core/repository/condemned.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { byteStringFromText } from '../../core/util/byte-string.ts';
import { BackupTally } from '../../core/saving/backup-tally.ts';
import { buildEntry } from '../../core/sources/entry-builder.ts';
import { manifestsWithoutCopy } from '../../core/saving/manifest-copies.ts';
import { offlinePackIds } from '../../core/saving/relied-packs.ts';
import { RepositoryChunkSaver } from '../../core/saving/repository-chunk-saver.ts';
import { describeSnapshot, summarize } from '../../core/saving/snapshot-manifest.ts';
import { streamMetadata } from '../../core/saving/stream-tree.ts';
import { commitSnapshots } from '../../core/saving/commit-snapshots.ts';
import { withRepository } from '../../core/session/session.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { commitDelete } from '../../core/removing/remove-snapshots.ts';

const RELEASE_WAIT_MS = 2000;
/** A backup that borrows makes one for up to 100,000 chunks. */
const HOLDS_PER_DOMAIN_MAX = 10_000;
/** The holds of all domains together are limited to those of this number of domains. */
const DOMAINS_MAX = 10;
/** Number of chunks per file in the tree of a hold. */
const CHUNKS_PER_FILE = 65_536;

/**
 * Keeps chunks for another domain: commits a snapshot that refers to those that the repository has, so that delete,
 * compact and check treat them like those of a backup. Like a backup, it does not rely on what is about to be removed.
 * Chunks that this repository has borrowed itself are not kept: two domains could borrow a chunk from each other, and
 * none would have it.
 *
 * Returns a byte for each id, 1 if it is kept. Durable when it returns. A call that is repeated keeps the chunks twice,
 * and one release ends both.
 */
export async function placeHold(
  context: OperationContext,
  hold: Hold,
  ids: Uint8Array,
  holdsMax: number = HOLDS_PER_DOMAIN_MAX,
): Promise<Uint8Array> {
  return await withRepository(context, 'add', async (repository) => {
    const opened = await repository.openState();
    const { condemned } = opened.listing;
    assertCondemnationsReadable(condemned);
    const chunks = new RepositoryChunkSaver(repository, opened.state, {
      writes: true,
      condemnedPackIds: condemned.packIds,
      offlinePackIds: offlinePackIds(opened),
    });
    const kept = keptChunks(opened, chunks, ids);
    if (!kept.includes(1)) return kept;
    await assertRoomFor(repository, hold, holdsMax);
    const startedAt = new Date();
    let tree: Uint8Array;
    try {
      tree = await storeTree(repository, chunks, { opened, ids, kept, startedAt });
      await chunks.finish();
    } catch (error) {
      await chunks.abandon().catch(() => undefined);
      throw error;
    }
    const snapshot = describeHold(hold, { tree, chunks, startedAt });
    await commitSnapshots(
      { context, repository },
      chunks,
      [() => encodeSnapshot(snapshot)],
      manifestsWithoutCopy(opened),
    );
    return kept;
  });
}

/**
 * A hold is a snapshot. Without limits, one domain, or a holder of the realm key file that poses as many domains, could
 * make the repository slow for its owner.
 */
async function assertRoomFor({ files, config }: Repository, { domainId, name }: Hold, max: number): Promise<void> {
  if (domainId === config.repositoryId) throw new RefusedError('a repository holds nothing for itself');
  const { listings } = await files.readSnapshots();
  if (holdsFor(domainId, listings).length >= max)
    throw new TooManyHoldsError(`this repository already has ${max} holds of the domain ${name}`);
  const total = listings.filter(({ snapshot }) => snapshot.hold !== undefined).length;
  if (total >= max * DOMAINS_MAX)
    throw new TooManyHoldsError(`this repository already has ${total} holds of all domains together`);
}

function keptChunks({ state }: OpenedState, chunks: RepositoryChunkSaver, ids: Uint8Array): Uint8Array {
  const { filter, packs } = state;
  const kept = new Uint8Array(ids.length / CHUNK_ID_BYTES);
  for (let index = 0; index < kept.length; index += 1) {
    const offset = index * CHUNK_ID_BYTES;
    const entry = filter.find(ids, offset);
    if (entry < 0 || !filter.hasLocation(entry)) continue;
    const packIndex = filter.packIndexOf(entry);
    const isHere = packs.has(packIndex) && packs.get(packIndex).kind === 'data' && !packs.get(packIndex).isBorrowed;
    // `has` relies on the pack until the snapshot is committed.
    if (isHere && chunks.has(ids, offset)) kept[index] = 1;
  }
  return kept;
}

interface KeptChunks {
  readonly opened: OpenedState;
  readonly ids: Uint8Array;
  readonly kept: Uint8Array;
  readonly startedAt: Date;
}

async function storeTree(
  { hasher }: Repository,
  chunks: RepositoryChunkSaver,
  { opened: { state }, ids, kept, startedAt }: KeptChunks,
): Promise<Uint8Array> {
  const offsets = [...kept.keys()].filter((index) => kept[index] === 1).map((index) => index * CHUNK_ID_BYTES);
  const entries: TreeEntry[] = [];
  const owners = openOwnerNames();
  const metadata = streamMetadata(startedAt.toISOString());
  for (let first = 0; first < offsets.length; first += CHUNKS_PER_FILE) {
    const part = offsets.slice(first, first + CHUNKS_PER_FILE);
    const chunkIds = Buffer.concat(part.map((offset) => ids.subarray(offset, offset + CHUNK_ID_BYTES)));
    const sizeBytes = part.reduce((sum, at) => sum + state.filter.lengthOf(state.filter.find(ids, at)), 0);
    const name = byteStringFromText(`chunks-${String(entries.length).padStart(6, '0')}`);
    entries.push(buildEntry(name, metadata, owners, { chunkIds, sizeBytes }, NO_ATTRIBUTES));
  }
  const tree = encodeTree(entries);
  const id = hasher.treeId(tree);
  await chunks.put('tree', id, tree);
  return id;
}

function describeHold(
  hold: Hold,
  {
    tree,
    chunks,
    startedAt,
  }: { readonly tree: Uint8Array; readonly chunks: RepositoryChunkSaver; readonly startedAt: Date },
): Snapshot {
  const root = byteStringFromText(`/held-for/${hold.name}`);
  return describeSnapshot({
    // No machine has such a name, so no backup is compared with this snapshot.
    hostname: `domain:${hold.name}`,
    tags: [],
    plan: { base: root, roots: [root] },
    tree,
    time: startedAt.toISOString(),
    summary: summarize(new BackupTally(undefined), chunks.counts, startedAt, 0),
    parentId: undefined,
    attributes: undefined,
    marks: { hold },
  });
}

/** Returns those of the holds of a domain that there are. */
export async function existingHolds(
  context: OperationContext,
  holderId: string,
  holdIds: readonly string[],
): Promise<string[]> {
  return await withRepository({ ...context, lockWaitMs: RELEASE_WAIT_MS }, 'read', async (repository) => {
    const { listings } = await repository.files.readSnapshots({ isExact: true });
    const held = new Set(holdsFor(holderId, listings).map(({ snapshot }) => snapshot.hold!.holdId));
    return holdIds.filter((holdId) => held.has(holdId));
  });
}

/**
 * Ends holds of a domain, when no pack of borrowed chunks needs them any more: those whose secrets are among `keys`, which
 * only who has placed them knows, and open ones whose ids are. What only they kept is dead then. Holds that do not exist
 * are ignored.
 */
export async function releaseHolds(
  context: OperationContext,
  holderId: string,
  keys: readonly string[],
): Promise<void> {
  // The caller may hold the exclusive lock of its own repository, and this one may wait for that in turn.
  const patient = { ...context, lockWaitMs: RELEASE_WAIT_MS };
  await withRepository(patient, 'shared', async (repository) => {
    const open = new Set(keys);
    const bySecret = new Set(keys.map(holdIdOf));
    const { listings } = await repository.files.readSnapshots();
    const going = holdsFor(holderId, listings).filter(({ snapshot: { hold } }) =>
      (hold!.isOpen ? open : bySecret).has(hold!.holdId),
    );
    if (going.length > 0) await commitDelete(context, repository, going);
  });
}

export function holdsFor(holderId: string, listings: readonly SnapshotListing[]): SnapshotListing[] {
  return listings.filter(({ snapshot }) => snapshot.hold?.domainId === holderId);
}
