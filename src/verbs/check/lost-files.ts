import { isDamage } from '../../core/errors.ts';
import { snapshotName } from '../../core/format/layout.ts';
import type { PackContents } from '../../core/format/pack.ts';
import type { Survey } from '../../core/damage/repository-survey.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { Finding } from '../../core/session/findings.ts';

/** Finds packs that no readable segment lists. They matter only if a segment is lost, since it may have listed them. */
export async function findUnindexedPacks(
  repository: Repository,
  { listing, damage }: OpenedState,
  { findings, packs }: Survey,
): Promise<{ readonly packs: PackContents[]; readonly findings: Finding[] }> {
  const found: { packs: PackContents[]; findings: Finding[] } = { packs: [], findings: [] };
  if (damage.lostSegments.length === 0 && findings.every(({ kind }) => kind !== 'segment-damaged')) return found;
  const unindexed = [...listing.packs].filter(([packId]) => !packs.has(packId));
  const read = async ([packId, sizeBytes]: readonly [string, number]): Promise<PackContents | undefined> =>
    repository.packs.readSoundContents(packId, sizeBytes, isDamage);
  for await (const [[packId], reading] of repository.files.prefetch(unindexed, read)) {
    const pack = await reading;
    if (pack === undefined) found.findings.push(unreadablePack(packId));
    else found.packs.push(pack);
  }
  return found;
}

function unreadablePack(packId: string): Finding {
  const problems = [{ kind: 'footer-unreadable' }] as const;
  return { severity: 'error', kind: 'pack-damaged', packId, problems, impact: undefined };
}

/** Returns the snapshots that are gone, although something says that they should be there. */
export async function lostSnapshots(
  { files }: Repository,
  { damage, listing, remembered }: OpenedState,
): Promise<Finding[]> {
  const listed = new Set(listing.snapshotIds);
  const unknown = new Set([...damage.snapshots.keys()].filter((id) => !listed.has(id)));
  const findings: Finding[] = [];
  for (const snapshotId of [...damage.lostSnapshots, ...unknown]) {
    // A snapshot that was undeleted between two listings is in neither of them.
    if (await files.exists(snapshotName(snapshotId))) continue;
    const isRepairable = remembered.has(snapshotId);
    const outlook = unknown.has(snapshotId) ? 'copy-damaged' : isRepairable ? 'repairable' : 'gone';
    findings.push({ severity: 'error', kind: 'snapshot-lost', snapshotId, outlook });
  }
  return findings;
}

/** Returns the segments that are gone. */
export function lostSegments({ damage }: OpenedState): Finding[] {
  return damage.lostSegments.map((segmentId) => ({ severity: 'error', kind: 'segment-missing', segmentId }));
}

/** Whether there are packs that no readable segment lists. */
export function hasUnindexed({ packs }: OpenedState['listing'], { packs: indexed }: Survey): boolean {
  return [...packs.keys()].some((id) => !indexed.has(id));
}

/** What is missing and named here is what a repair leaves: it would have found it in a pack or in a copy. */
export function areBeyondRepair(findings: readonly Finding[]): boolean {
  const errors = findings.filter(({ severity }) => severity === 'error');
  const isLeft = (finding: Finding): boolean =>
    finding.kind === 'chunk-missing' ||
    finding.kind === 'file-size' ||
    (finding.kind === 'snapshot-lost' && finding.outlook === 'gone');
  return errors.length > 0 && errors.every(isLeft);
}
