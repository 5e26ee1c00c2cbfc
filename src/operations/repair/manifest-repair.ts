import { CONFIG_COPY_NAME, CONFIG_NAME, baseName, deletedName, snapshotName } from '../../repository/layout.ts';
import { encodeConfig } from '../../format/config.ts';
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
    plan.add({ kind: 'config-rewritten', file: name, message: `written again from ${other}` }, async () =>
      repository.order.publishFile(name, encodeConfig(repository.config)),
    );
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

/** Manifests of deleted snapshots that cannot be read can never be brought back. */
export function repairDeleted(plan: RepairPlan, { order }: Repository, findings: readonly Finding[]): void {
  for (const id of damagedIds(findings, 'deleted-snapshot-damaged')) {
    const file = deletedName(id);
    plan.add({ kind: 'deleted-snapshot-quarantined', file, message: 'damaged; set aside' }, async () =>
      order.quarantine(file),
    );
  }
}

function damagedIds(findings: readonly Finding[], kind: string): string[] {
  return findings.filter((finding) => finding.kind === kind).map(({ file }) => baseName(file!));
}
