import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { PackReport } from '../../core/store/pack-report.ts';
import type { Finding } from '../../core/session/findings.ts';
import { groupNameOf } from '../../core/copies/opened-groups.ts';

/** Reports damaged copies of packs that have a sound one, and packs that are in too few groups. */
export async function findCopyProblems(
  repository: Repository,
  opened: OpenedState,
  reports: readonly PackReport[],
): Promise<Finding[]> {
  const { groups } = repository;
  if (groups === undefined) return [];
  const damaged = reports
    .filter(({ problems }) => problems.length === 0)
    .flatMap(({ pack, damagedCopies = [] }) =>
      damagedCopies.map(({ copyId, problems }): Finding => {
        return {
          severity: 'error',
          kind: 'copy-damaged',
          packId: pack.id,
          group: groupNameOf(groups, copyId),
          problems,
        };
      }),
    );
  // The number of copies of what is in an offline group is unknown.
  if (opened.listing.offlineGroups.length > 0) return damaged;
  const { findShortPacks } = await import('../../core/copies/short-packs.ts');
  const ids = new Set(reports.map(({ pack }) => pack.id));
  const short = (await findShortPacks(repository, opened)).filter(({ id }) => ids.has(id));
  if (short.length === 0) return damaged;
  return [
    ...damaged,
    { severity: 'warning', kind: 'copies-missing', packCount: short.length, exampleId: short[0]!.id },
  ];
}
