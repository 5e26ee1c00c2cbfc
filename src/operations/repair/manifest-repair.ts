import { CONFIG_COPY_NAME, CONFIG_NAME, baseName, deletedName, snapshotName } from '../../repository/layout.ts';
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
    const { order, backend } = repository;
    plan.add({ kind: 'config-rewritten', file: name, message: `written again from ${other}` }, async () => {
      const bytes = await backend.read(other);
      await order.quarantine(name);
      await order.publishFile(name, bytes);
    });
  }
}

/** Manifests: what a filter image remembers is written again, what it does not is set aside. */
export function repairManifests(
  plan: RepairPlan,
  { order }: Repository,
  opened: OpenedState,
  findings: readonly Finding[],
): void {
  const { snapshots } = opened.state;
  const write = (id: string, message: string): void => {
    const { manifest } = snapshots.get(id)!;
    plan.add({ kind: 'snapshot-rewritten', file: snapshotName(id), message }, async () =>
      order.publishFile(snapshotName(id), manifest),
    );
  };
  for (const id of opened.lostSnapshots) write(id, 'the manifest was gone; written again from the filter image');
  for (const id of damagedIds(findings, 'snapshot-damaged')) {
    const name = snapshotName(id);
    const message = snapshots.has(id)
      ? 'damaged; set aside'
      : 'damaged, and no filter image remembers it; set aside, the snapshot is lost';
    plan.add({ kind: 'snapshot-quarantined', file: name, message }, async () => order.quarantine(name));
    if (snapshots.has(id)) write(id, 'written again from the filter image');
  }
}

/** Manifests of deleted snapshots: without them an undelete is not possible, but nothing else is lost. */
export function repairDeleted(
  plan: RepairPlan,
  { order }: Repository,
  { remembered }: OpenedState,
  findings: readonly Finding[],
): void {
  for (const id of damagedIds(findings, 'deleted-snapshot-damaged')) {
    const file = deletedName(id);
    const folded = remembered.get(id);
    const message = folded === undefined ? 'damaged; set aside' : 'damaged; set aside and written again';
    plan.add({ kind: 'deleted-snapshot-quarantined', file, message }, async () => {
      await order.quarantine(file);
      if (folded !== undefined) await order.publishFile(file, folded.manifest);
    });
  }
}

/** Damaged manifests that nothing remembers. */
export function findLostSnapshots({ remembered }: OpenedState, findings: readonly Finding[]): Finding[] {
  const lost = damagedIds(findings, 'snapshot-damaged').filter((id) => !remembered.has(id));
  return lost.map((id) => ({
    severity: 'error',
    kind: 'snapshot-lost',
    file: snapshotName(id),
    message: 'its manifest was damaged, and no filter image remembers it; the damaged file is in quarantine/',
    snapshots: [id],
  }));
}

function damagedIds(findings: readonly Finding[], kind: string): string[] {
  return findings.filter((finding) => finding.kind === kind).map(({ file }) => baseName(file!));
}
