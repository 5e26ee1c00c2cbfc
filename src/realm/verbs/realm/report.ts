import type { CreatedRealm } from './create.ts';
import type { JoinResult } from './join.ts';
import type { ForgetDomainResult } from './forget-domain.ts';
import type { LeaveResult } from './leave.ts';
import type { PublishResult } from './publish-ranges.ts';
import type { PublishedState } from '../../formats/domain-records.ts';
import { formatBytes } from '../../../core/util/format-bytes.ts';
import { escapeForTerminal } from '../../../console/output/display-path.ts';
import type { Output } from '../../../console/output/output.ts';
import type { Session } from '../../../console/session.ts';
import { byteFields } from '../../../console/output/byte-fields.ts';
import { recoverBytes } from '../../../console/input/raw-arguments.ts';
import { countNoun, quoteForShell } from '../../../console/output/words.ts';

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

export function reportLeave(output: Output, { realmId, name, holdsKept }: LeaveResult): void {
  output.complete('The repository has left the realm.');
  const fields = holdsKept.map(({ domainId, ...kept }) => ({ domain_id: domainId, ...kept }));
  output.message('summary', { change: 'left', realm_id: realmId, name, holds_kept: fields });
  output.remark(`${name} has left realm ${realmId.slice(0, 10)}`);
  if (output.json || holdsKept.length === 0) return;
  for (const { domainId, name: lender = domainId.slice(0, 8), holds, reason } of holdsKept)
    output.line(
      `the domain ${lender} still has ${countNoun(holds, 'hold')} for this repository: ${escapeForTerminal(reason)}`,
    );
  output.line(
    `To end them, run \`ldm realm forget ${quoteForShell(name)} --release-holds\` in the repository of each of these domains. Or join again when they can be reached, and run \`ldm compact\`.`,
  );
}

export function reportForgottenDomain(output: Output, { domainId, name, holdsReleased }: ForgetDomainResult): void {
  output.complete('The records of the domain are removed.');
  output.message('summary', { change: 'forgotten', domain_id: domainId, name, holds_released: holdsReleased });
  const released = holdsReleased === 0 ? '' : ` and ended ${countNoun(holdsReleased, 'hold')} for it`;
  output.remark(`removed the records of ${name ?? domainId.slice(0, 10)}${released}`);
}

/** What is published, as fields of a message. */
export function stateFields({
  generation,
  sequence,
  positions,
  hashes,
  liveCount,
}: PublishedState): Record<string, unknown> {
  return { generation, sequence, m: positions, k: hashes, chunks: liveCount };
}
