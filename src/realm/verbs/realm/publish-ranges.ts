import { RefusedError } from '../../../core/errors.ts';
import { isRangesName, rangesName, snapshotsDigest } from '../../planes/range-names.ts';
import { assertArguments } from '../../../core/session/arguments.ts';
import { withRepository } from '../../../core/session/session.ts';
import { Pacer } from '../../../core/util/pacer.ts';
import { beginPhase } from '../../../core/session/progress.ts';
import type { OperationContext } from '../../../core/session/context.ts';
import { planeFilesOf } from '../../domains/plane-files-of.ts';
import { publishPlane } from '../../domains/publish.ts';
import type { Publication } from '../../domains/publish.ts';
import { rangesOfFiles } from './range-files.ts';
import { withRealm } from '../../domains/realm.ts';
import type { Repository } from '../../../core/repository/repository.ts';
import type { OpenRealm } from '../../domains/realm.ts';

/** The published ranges. */
export interface PublishedRanges {
  /** Versions of files. Undefined: they were published before. */
  readonly files: number | undefined;
  readonly bytes: number;
}

export interface PublishResult {
  readonly publication: Publication;
  readonly ranges: PublishedRanges | undefined;
}

/**
 * Publishes what other operations could not publish, and with `ranges` where in time, path and size the files are.
 * @throws RefusedError if the repository has not joined a realm, or is damaged
 * @throws CoordinatorError
 */
export async function publish(
  context: OperationContext,
  options: { readonly ranges: boolean },
): Promise<PublishResult> {
  assertArguments<typeof options>(context, options, { ranges: 'flag' });
  return await withRepository(context, 'add', async (repository) =>
    withRealm(repository, async (realm) => {
      const publication = await publishPlane(repository, realm);
      const ranges = options.ranges ? await publishRanges(context, repository, realm) : undefined;
      return { publication, ranges };
    }),
  );
}

async function publishRanges(
  context: OperationContext,
  repository: Repository,
  realm: OpenRealm,
): Promise<PublishedRanges> {
  const files = planeFilesOf(realm, repository);
  const opened = await repository.openState();
  if (!opened.state.isComplete || !opened.damage.isWhole) {
    throw new RefusedError('the repository is damaged, so what it has cannot be published', {
      advice: { code: 'check-and-repair' },
    });
  }
  const { snapshotIds } = opened.listing;
  const name = rangesName(snapshotsDigest(snapshotIds));
  const names = await files.names();
  if (names.includes(name)) return { files: undefined, bytes: 0 };
  beginPhase(context.progress, 'reading trees');
  const pacer = new Pacer(context);
  const { listings } = await repository.files.readSnapshots();
  const present = new Set(snapshotIds);
  const snapshots = listings.filter(({ id }) => present.has(id)).map(({ snapshot }) => snapshot);
  // Another process has deleted one meanwhile: these are not the files of the snapshots that the name says.
  if (snapshots.length !== snapshotIds.length)
    throw new RefusedError('the snapshots have changed meanwhile', { hint: 'Try again.' });
  const { tree, files: count } = await rangesOfFiles(opened, snapshots, () => pacer.pause());
  const bytes = realm.keys.seal(tree.save(), Buffer.from(`${realm.domainId}/${name}`));
  await files.writeNew(name, bytes);
  for (const old of names) if (isRangesName(old)) await files.remove(old);
  return { files: count, bytes: bytes.length };
}
