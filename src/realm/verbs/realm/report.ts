import type { CreatedRealm } from './create.ts';
import type { JoinResult } from './join.ts';
import type { ForgetDomainResult, LeaveResult } from './leave.ts';
import type { PublishResult } from './publish-ranges.ts';
import type { DomainStatus, RealmStatus } from './status.ts';
import { formatBytes } from '../../../core/util/format-bytes.ts';
import { escapeForTerminal } from '../../../console/output/display-path.ts';
import type { Output } from '../../../console/output/output.ts';
import type { Session } from '../../../console/session.ts';
import { byteFields } from '../../../console/output/byte-fields.ts';
import { recoverBytes } from '../../../console/input/raw-arguments.ts';
import { quoteForShell } from '../../../console/reports/init-report.ts';
import { formatTable } from '../../../console/output/tables.ts';
import { countNoun, formatCount } from '../../../console/output/words.ts';

/** Reports `realm create`. */
export function reportCreatedRealm({ output }: Session, realm: CreatedRealm, file: string): void {
  const place = escapeForTerminal(file);
  const { realmId, name, isEncrypted, isSealed, chunkHash } = realm;
  output.complete(`The realm key file ${place} was written.`);
  output.message('realm_created', {
    realm_id: realmId,
    name,
    ...byteFields('file', recoverBytes([file])[0]!),
    encrypted: isEncrypted,
    sealed: isSealed,
    chunk_hash: chunkHash,
  });
  const kind = isEncrypted ? 'for encrypted repositories' : 'for repositories that are not encrypted';
  output.remark(`created the realm ${realmId.slice(0, 10)}, ${kind}, in ${place}`);
  if (!isSealed)
    output.remark('anyone who can read this file has the keys of the realm: keep it secret, and keep a copy');
  output.remark(`next: ldm init -r <place> --realm ${quoteForShell(place)}`);
}

/** Reports `realm join`. */
export function reportJoin(output: Output, { realmId, domainId, name, isNameChosen, publication }: JoinResult): void {
  const { state, bytes } = publication;
  output.complete(`The repository has joined the realm as ${name}.`);
  output.message('summary', {
    change: 'joined',
    realm_id: realmId,
    domain_id: domainId,
    name,
    name_chosen: isNameChosen,
    ...stateFields(state),
    published_bytes: bytes,
  });
  output.remark(`joined realm ${realmId.slice(0, 10)} as ${name}; published ${countNoun(state.liveCount, 'chunk')}`);
  if (isNameChosen)
    output.remark(
      `none was given, so the name ${name} was chosen, which is free; join again with --name to use another one`,
    );
}

/** Reports `realm publish`. */
export function reportPublished(output: Output, { publication: { state, bytes }, ranges }: PublishResult): void {
  output.complete('What this repository has is published.');
  const rangeFields = ranges && { files: ranges.files, bytes: ranges.bytes };
  output.message('summary', {
    change: 'published',
    ...stateFields(state),
    published_bytes: bytes,
    ranges: rangeFields,
  });
  output.remark(bytes === 0 ? 'nothing has changed since the last publication' : `published ${formatBytes(bytes)}`);
  if (ranges === undefined) return;
  const { files } = ranges;
  output.remark(
    files === undefined
      ? 'the ranges of these snapshots are published already'
      : `published the ranges of ${countNoun(files, 'version')} of files in ${formatBytes(ranges.bytes)}`,
  );
}

export function reportLeave(output: Output, { realmId, name }: LeaveResult): void {
  output.complete('The repository has left the realm.');
  output.message('summary', { change: 'left', realm_id: realmId, name });
  output.remark(`${name} has left realm ${realmId.slice(0, 10)}`);
}

export function reportForgottenDomain(output: Output, { domainId, name, holdsReleased }: ForgetDomainResult): void {
  output.complete('The records of the domain are removed.');
  output.message('summary', { change: 'forgotten', domain_id: domainId, name, holds_released: holdsReleased });
  const released = holdsReleased === 0 ? '' : ` and ended ${countNoun(holdsReleased, 'hold')} for it`;
  output.remark(`removed the records of ${name ?? domainId.slice(0, 10)}${released}`);
}

/** Reports `realm status`: a line or JSON object per member. */
export function reportRealm(output: Output, status: RealmStatus): void {
  const { realmId, coordinator, domains, hasAgentPlanes, damaged } = status;
  for (const domain of domains) output.message('domain', fieldsOf(domain));
  const rows = domains.map((domain) => [
    domain.isSelf ? `${domain.name} (this)` : domain.name,
    domain.domainId.slice(0, 10),
    domain.reachedBy ?? 'not reached',
    domain.published === undefined ? '' : formatCount(domain.published.generation),
    domain.published === undefined ? '' : formatCount(domain.published.sequence),
    domain.published === undefined ? '' : formatCount(domain.published.liveCount),
    planeWord(domain),
    behindWord(domain, hasAgentPlanes),
    `${escapeForTerminal(domain.host)}:${escapeForTerminal(domain.place)}`,
  ]);
  output.line(`realm ${realmId.slice(0, 10)}, coordinator ${escapeForTerminal(coordinator)}`);
  const head = ['Domain', 'ID', 'Reached by', 'Gen', 'Seq', 'Chunks', 'Plane', 'Agent has', 'Place'];
  output.line(formatTable(rows, { head, rightAligned: [3, 4, 5] }));
  if (!hasAgentPlanes && domains.length > 1)
    output.line('no agent of this repository answers: each command reads the planes of the others itself');
  for (const { name, problem } of domains)
    if (problem !== undefined) output.line(`${name}: ${escapeForTerminal(problem)}`);
  for (const reason of damaged.values()) output.line(escapeForTerminal(reason));
  output.message('summary', {
    realm_id: realmId,
    coordinator,
    domains: domains.length,
    agent_planes: hasAgentPlanes,
    damaged: [...damaged].map(([domain_id, reason]) => ({ domain_id, reason })),
  });
}

function planeWord({ isSelf, isCurrent, published, unpublished }: DomainStatus): string {
  if (published === undefined) return 'none';
  if (isCurrent) return 'current';
  return isSelf ? `${countNoun(unpublished ?? 0, 'change')} not published` : 'stale';
}

/** Which plane of another domain the agent of this domain has. Empty: none worth a mention. */
export function behindWord(
  { isSelf, held, behind, published }: Pick<DomainStatus, 'isSelf' | 'held' | 'behind' | 'published'>,
  hasAgentPlanes: boolean,
): string {
  if (isSelf || !hasAgentPlanes) return '';
  if (held === undefined) return 'none';
  if (behind === undefined) return published === undefined ? 'unknown' : 'another';
  return behind === 0 ? 'current' : `${formatCount(behind)} behind`;
}

function fieldsOf(domain: DomainStatus): Record<string, unknown> {
  const { domainId, name, host, place, isSelf, reachedBy, problem, published, isCurrent, unpublished, held, behind } =
    domain;
  return {
    domain_id: domainId,
    name,
    host,
    place,
    self: isSelf,
    reached_by: reachedBy,
    problem,
    ...(published === undefined ? {} : stateFields(published)),
    current: isCurrent,
    unpublished,
    held_sequence: held?.sequence,
    behind,
  };
}

function stateFields({
  generation,
  sequence,
  positions,
  hashes,
  liveCount,
}: NonNullable<DomainStatus['published']>): Record<string, unknown> {
  return { generation, sequence, m: positions, k: hashes, chunks: liveCount };
}
