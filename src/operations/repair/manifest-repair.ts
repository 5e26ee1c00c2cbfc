import {
  CONFIG_COPY_NAME,
  CONFIG_NAME,
  baseName,
  deletedName,
  manifestCopyName,
  snapshotName,
} from '../../format/layout.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import type { Finding } from '../check/findings.ts';
import type { RepairPlan } from './repair-plan.ts';

/** Configuration: the damaged copy is written again from the whole one. */
export function repairConfig(plan: RepairPlan, repository: Repository, findings: readonly Finding[]): void {
  const damaged = findings.filter(({ kind }) => kind === 'config-damaged').map(({ file }) => file);
  for (const name of [CONFIG_NAME, CONFIG_COPY_NAME]) {
    if (!damaged.includes(name)) continue;
    const other = name === CONFIG_NAME ? CONFIG_COPY_NAME : CONFIG_NAME;
    const { order, files } = repository;
    plan.add(
      {
        kind: 'config-rewritten',
        file: name,
        message: `rewrite ${name} from ${other}, and set the damaged file aside`,
      },
      async () => {
        const bytes = await files.read(other);
        await order.quarantine(name);
        await order.publishFile(name, bytes);
      },
    );
  }
}

/** Manifests: what a copy or a filter image has is written again, what neither has is set aside. */
export function repairManifests(
  plan: RepairPlan,
  { order }: Repository,
  opened: OpenedState,
  findings: readonly Finding[],
): void {
  const { snapshots } = opened.state;
  const write = (id: string): void => {
    const message = `write ${snapshotName(id)} again from its copy or a checkpoint`;
    const { manifest } = snapshots.get(id)!;
    plan.add({ kind: 'snapshot-rewritten', file: snapshotName(id), message }, async () =>
      order.publishFile(snapshotName(id), manifest),
    );
  };
  for (const id of opened.lostSnapshots) write(id);
  for (const id of damagedIds(findings, 'snapshot-damaged')) {
    const name = snapshotName(id);
    const message = snapshots.has(id)
      ? setAside(name)
      : `${setAside(name)}; the snapshot is lost, because there is no copy of this file`;
    plan.add({ kind: 'snapshot-quarantined', file: name, message }, async () => order.quarantine(name));
    if (snapshots.has(id)) write(id);
  }
}

function setAside(file: string): string {
  return `set aside ${file}, which is damaged`;
}

/** Manifests of deleted snapshots: without them an undelete is not possible, but nothing else is lost. */
export function repairDeleted(
  plan: RepairPlan,
  repository: Repository,
  opened: OpenedState,
  findings: readonly Finding[],
): void {
  const damagedCopies = damagedIds(findings, 'snapshot-copy-damaged');
  const copied = new Set(opened.listing.manifestCopyIds.filter((id) => !damagedCopies.includes(id)));
  for (const id of damagedIds(findings, 'deleted-snapshot-damaged')) {
    const known = opened.remembered.get(id)?.manifest;
    const read = async (): Promise<Uint8Array> => known ?? (await repository.files.readManifestCopy(id)).bytes;
    const source = known !== undefined || copied.has(id) ? read : undefined;
    replace(plan, repository, { kind: 'deleted-snapshot-quarantined', file: deletedName(id) }, source);
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
  findings: readonly Finding[],
): void {
  const damagedDeleted = damagedIds(findings, 'deleted-snapshot-damaged');
  const deleted = new Set(opened.listing.deletedIds.filter((id) => !damagedDeleted.includes(id)));
  for (const id of damagedIds(findings, 'snapshot-copy-damaged')) {
    const known = (opened.state.snapshots.get(id) ?? opened.remembered.get(id))?.manifest;
    const read = async (): Promise<Uint8Array> =>
      known ?? (await repository.files.readManifest(id, { deleted: true })).bytes;
    const source = known !== undefined || deleted.has(id) ? read : undefined;
    replace(plan, repository, { kind: 'snapshot-copy-quarantined', file: manifestCopyName(id) }, source);
  }
}

/** Sets a damaged file aside. Where there is a source, its name is never free: a snapshot in no place would look lost. */
function replace(
  plan: RepairPlan,
  { order }: Repository,
  { kind, file }: { readonly kind: string; readonly file: string },
  source: (() => Promise<Uint8Array>) | undefined,
): void {
  const message = source === undefined ? setAside(file) : `${setAside(file)}, and write it again`;
  plan.add({ kind, file, message }, async () => {
    if (source === undefined) return await order.quarantine(file);
    const bytes = await source();
    await order.quarantineCopy(file);
    await order.publishFile(file, bytes);
  });
}

/** Manifests that are damaged, or gone with a damaged copy, and that nothing remembers. */
export function findLostSnapshots(opened: OpenedState, findings: readonly Finding[]): Finding[] {
  const { remembered, damagedSnapshots, listing } = opened;
  const damaged = damagedIds(findings, 'snapshot-damaged').filter((id) => !remembered.has(id));
  const gone = [...damagedSnapshots.keys()].filter((id) => !listing.snapshotIds.includes(id));
  return [...damaged, ...gone].map((id) => ({
    severity: 'error',
    kind: 'snapshot-lost',
    file: snapshotName(id),
    message: 'lost: its manifest cannot be read, and there is no copy; what is left of it is in quarantine/',
    snapshots: [id],
  }));
}

function damagedIds(findings: readonly Finding[], kind: string): string[] {
  return findings.filter((finding) => finding.kind === kind).map(({ file }) => baseName(file!));
}
