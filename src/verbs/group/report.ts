import { formatBytes } from '../../core/util/format-bytes.ts';
import type { CopyRules, GroupListing, ListedGroup, StorageGroup } from './groups.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { countNoun, formatCount, formatPercent } from '../../console/output/words.ts';

/** Reports `group list`: one line or JSON object per group. */
export function reportGroups(output: Output, listing: GroupListing): void {
  const { groups, copies, copiesIfRefs, packsShort, missingPacks, missingBytes, surplusCopies, surplusBytes } = listing;
  for (const group of groups) output.message('group', listedFields(group));
  const rows = groups.map((group) => [
    group.name,
    group.offlineReason === undefined ? group.state : 'offline',
    group.packCount === undefined ? '?' : formatCount(group.packCount),
    group.packBytes === undefined ? '?' : formatBytes(group.packBytes),
    group.capacityBytes === undefined ? '' : formatBytes(group.capacityBytes),
    fillLevelOf(group),
    group.chunksMax === undefined ? '' : formatCount(group.chunksMax),
    String(group.weight),
    ...(copies > 1 ? [group.metadata ?? '?'] : []),
    escapeForTerminal(group.place),
  ]);
  const counts = ['Packs', 'Data', 'Capacity', 'Full', 'Chunks max', 'Weight'];
  const head = ['Group', 'State', ...counts, ...(copies > 1 ? ['Metadata'] : []), 'Place'];
  const shortened = [{ column: head.length - 1, keeps: 'end' }] as const;
  output.line(formatTable(rows, { head, rightAligned: [2, 3, 4, 5, 6, 7], shortened }));
  output.message('summary', {
    groups: groups.length,
    ...rulesFields(listing),
    packs_short: packsShort,
    missing_packs: missingPacks,
    missing_bytes: missingBytes,
    surplus_copies: surplusCopies,
    surplus_bytes: surplusBytes,
  });
  if (copies > 1 || copiesIfRefs !== undefined) output.line(describeRules(listing));
  if (packsShort !== undefined && packsShort > 0) {
    output.line(
      `${countNoun(packsShort, 'pack')} in fewer groups than wanted; \`ldm group rebalance\` copies them if enough groups have room`,
    );
  }
  if (surplusCopies > 0) {
    output.line(
      `${countNoun(surplusCopies, 'copy')} of packs (${formatBytes(surplusBytes)}): left over; \`ldm compact\` removes them`,
    );
  }
  if (missingPacks === 0) return;
  const isOffline = groups.some(({ offlineReason }) => offlineReason !== undefined);
  const where = isOffline ? 'in no group that can be reached' : 'missing; `ldm check` shows what needs them';
  output.line(`${countNoun(missingPacks, 'pack')} (${formatBytes(missingBytes)}): ${where}`);
}

/** Reports a command that added, changed or removed a group. */
export function reportGroupChange(output: Output, change: 'added' | 'changed' | 'removed', group: StorageGroup): void {
  output.complete(`The group ${group.name} is ${change}.`);
  output.message('summary', { change, group: fieldsOf(group) });
  output.remark(`${change} group ${group.name}: ${group.state}, at ${escapeForTerminal(group.place)}`);
}

/** Reports `group copies`. */
export function reportCopies(output: Output, rules: CopyRules): void {
  output.message('summary', { change: 'changed', ...rulesFields(rules) });
  output.remark(describeRules(rules));
  output.remark('what is stored already stays as it is until `ldm group rebalance` or `ldm compact`');
}

function describeRules({ copies, copiesIfRefs }: CopyRules): string {
  const each = copies === 1 ? 'each pack in 1 group' : `each pack in ${formatCount(copies)} groups`;
  if (copiesIfRefs === undefined) return `copies: ${each}`;
  const { refs, copies: many } = copiesIfRefs;
  return `copies: ${each}, in ${formatCount(many)} if part of it is needed ${countNoun(refs, 'time')} or more`;
}

function rulesFields({ copies, copiesIfRefs }: CopyRules): Record<string, unknown> {
  return { copies, copies_if_refs: copiesIfRefs === undefined ? undefined : { ...copiesIfRefs } };
}

function fillLevelOf({ packBytes, capacityBytes }: ListedGroup): string {
  return packBytes === undefined || capacityBytes === undefined ? '' : formatPercent(packBytes / capacityBytes);
}

function fieldsOf({ name, id, place, state, weight, capacityBytes }: StorageGroup): Record<string, unknown> {
  return { name, group_id: id, place, state, weight, capacity: capacityBytes };
}

function listedFields(group: ListedGroup): Record<string, unknown> {
  const { offlineReason, packCount, packBytes, chunksMax } = group;
  return {
    ...fieldsOf(group),
    online: offlineReason === undefined,
    offline_reason: offlineReason,
    packs: packCount,
    bytes: packBytes,
    chunks_max: chunksMax,
    metadata: group.metadata,
  };
}
