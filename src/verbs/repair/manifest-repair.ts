import { CorruptDataError, isAbsent } from '../../core/errors.ts';
import {
  CONFIG_COPY_NAME,
  CONFIG_NAME,
  deletedName,
  manifestCopyName,
  snapshotName,
} from '../../core/format/layout.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { damagedNames } from '../../core/session/findings.ts';
import type { Finding, UnreadableFile } from '../../core/session/findings.ts';
import type { RepairPlan } from './repair-plan.ts';

/** What is damaged, and what the place does not read now: that may be sound, and nothing follows from it. */
export interface RepairFindings {
  readonly findings: readonly Finding[];
  readonly unread: readonly Finding[];
}

/** Configuration: the damaged copy is written again from the whole one, and one of an earlier epoch from the newer. */
export function repairConfig(plan: RepairPlan, repository: Repository, findings: readonly Finding[]): void {
  const damaged = damagedNames(findings, 'config-damaged');
  const outdated = damagedNames(findings, 'config-outdated');
  for (const name of [CONFIG_NAME, CONFIG_COPY_NAME]) {
    const from = name === CONFIG_NAME ? CONFIG_COPY_NAME : CONFIG_NAME;
    const { order, files } = repository;
    if (outdated.includes(name)) {
      plan.add({ kind: 'config-updated', name, from }, async () =>
        order.publishFile(name, await files.readConfig(from)),
      );
    }
    if (!damaged.includes(name)) continue;
    plan.add({ kind: 'config-rewritten', name, from }, async () => {
      const bytes = await files.readConfig(from);
      await order.quarantine(name);
      await order.publishFile(name, bytes);
    });
  }
}

/** Membership in a realm: without it, the repository is no member until it joins again. Nothing is lost. */
export function repairRealm(plan: RepairPlan, { order }: Repository, findings: readonly Finding[]): void {
  for (const name of damagedNames(findings, 'realm-damaged')) {
    plan.add({ kind: 'realm-quarantined', name }, async () => order.quarantine(name));
  }
}

/**
 * Manifests: what a copy or a filter image has is written again, what neither has is set aside. `unread`: about what the
 * place does not read. It stays, unless only a filter image has it, since a repair may remove that.
 */
export function repairManifests(
  plan: RepairPlan,
  { order }: Repository,
  opened: OpenedState,
  { findings, unread }: RepairFindings,
): void {
  const { snapshots } = opened.state;
  const write = (snapshotId: string): void => {
    const { manifest } = snapshots.get(snapshotId)!;
    plan.add({ kind: 'snapshot-rewritten', snapshotId }, async () =>
      order.publishFile(snapshotName(snapshotId), manifest),
    );
  };
  for (const id of opened.damage.lostSnapshots) if (snapshots.has(id)) write(id);
  for (const snapshotId of damagedIds(findings, 'snapshot-damaged')) {
    const isRewritten = snapshots.has(snapshotId);
    plan.add({ kind: 'snapshot-quarantined', snapshotId, isRewritten }, async () =>
      order.quarantine(snapshotName(snapshotId)),
    );
    if (isRewritten) write(snapshotId);
  }
  const copied = soundIds(opened.listing.manifestCopyIds, 'snapshot-copy-damaged', { findings, unread });
  for (const id of damagedIds(unread, 'snapshot-damaged')) if (snapshots.has(id) && !copied.has(id)) write(id);
}

/** Manifests of deleted snapshots: without them an undelete is not possible, but nothing else is lost. */
export function repairDeleted(
  plan: RepairPlan,
  repository: Repository,
  opened: OpenedState,
  found: RepairFindings,
): void {
  const copied = soundIds(opened.listing.manifestCopyIds, 'snapshot-copy-damaged', found);
  for (const id of damagedIds(found.findings, 'deleted-snapshot-damaged')) {
    const known = opened.remembered.get(id)?.manifest;
    const read = async (): Promise<Uint8Array> => known ?? (await repository.files.readManifestCopy(id)).bytes;
    const source = known !== undefined || copied.has(id) ? read : undefined;
    const action = { kind: 'deleted-snapshot-quarantined', snapshotId: id, isRewritten: source !== undefined } as const;
    plan.add(action, async () => replace(repository, deletedName(id), source));
  }
}

/**
 * Copies of manifests. They come before the manifests: a damaged copy that stayed when its damaged manifest has gone
 * would call a snapshot lost that was only deleted.
 */
export function repairManifestCopies(
  plan: RepairPlan,
  repository: Repository,
  opened: OpenedState,
  found: RepairFindings,
): void {
  const deleted = soundIds(opened.listing.deletedIds, 'deleted-snapshot-damaged', found);
  for (const id of damagedIds(found.findings, 'snapshot-copy-damaged')) {
    const known = (opened.state.snapshots.get(id) ?? opened.remembered.get(id))?.manifest;
    const read = async (): Promise<Uint8Array> =>
      known ?? (await repository.files.readManifest(id, { deleted: true })).bytes;
    const source = known !== undefined || deleted.has(id) ? read : undefined;
    const action = { kind: 'snapshot-copy-quarantined', snapshotId: id, isRewritten: source !== undefined } as const;
    plan.add(action, async () => replace(repository, manifestCopyName(id), source));
  }
}

/** Sets a damaged file aside. Where there is a source, its name is never free: a snapshot in no place would look lost. */
async function replace(
  { order }: Repository,
  file: string,
  source: (() => Promise<Uint8Array>) | undefined,
): Promise<void> {
  if (source === undefined) return await order.quarantine(file);
  const bytes = await source();
  await order.quarantineCopy(file).catch((error: unknown) => {
    // A symlink to nothing has no bytes to keep.
    if (!(error instanceof CorruptDataError) && !isAbsent(error)) throw error;
  });
  await order.publishFile(file, bytes);
}

/** Manifests that are damaged, or gone with a damaged copy, and that nothing remembers. */
export function findLostSnapshots(opened: OpenedState, findings: readonly Finding[]): Finding[] {
  const { remembered, damage, listing } = opened;
  const damaged = damagedIds(findings, 'snapshot-damaged').filter((id) => !remembered.has(id));
  const listed = new Set(listing.snapshotIds);
  const unread = [...damage.snapshots.keys()].filter((id) => !listed.has(id));
  const gone = damage.lostSnapshots.filter((id) => !remembered.has(id));
  const lost = { severity: 'error', kind: 'snapshot-lost' } as const;
  return [
    ...[...damaged, ...unread].map((snapshotId) => ({ ...lost, snapshotId, outlook: 'unrepairable' as const })),
    ...gone.map((snapshotId) => ({ ...lost, snapshotId, outlook: 'gone' as const })),
  ];
}

type SnapshotKind = Extract<UnreadableFile, { readonly snapshotId: string }>['kind'];

/** The ids of the files that can be read. */
function soundIds(ids: readonly string[], kind: SnapshotKind, { findings, unread }: RepairFindings): Set<string> {
  const damaged = new Set(damagedIds([...findings, ...unread], kind));
  return new Set(ids.filter((id) => !damaged.has(id)));
}

function damagedIds(findings: readonly Finding[], kind: SnapshotKind): string[] {
  return findings.flatMap((finding) => (finding.kind === kind ? [finding.snapshotId] : []));
}
