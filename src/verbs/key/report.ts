import type { RotateResult } from './key-rotation.ts';
import type { AddKeyResult, ChangePasswordResult, KeyListing, ListedKey } from './keys.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { countNoun, formatTime, shortId } from '../../console/output/words.ts';

/** Reports `key list`: one line or JSON object per key. */
export function reportKeys(output: Output, { keys, unusable }: KeyListing, verbosity: number): void {
  for (const key of keys) output.message('key', keyFields(key));
  for (const { id, error } of unusable) {
    const fields = { id, error: { message: error.message } };
    const text = `ldm: warning: the key ${shortId(id)} cannot be used: ${escapeForTerminal(error.message)}`;
    output.problem(text, 'unusable_key', fields);
  }
  if (keys.length > 0) output.line(formatKeys(keys, verbosity > 0));
  output.remark(countNoun(keys.length, 'key'));
}

function formatKeys(keys: readonly ListedKey[], full: boolean): string {
  // There is more than one epoch only after a rotation.
  const hasEpochs = full || new Set(keys.map(({ keyEpoch }) => keyEpoch)).size > 1;
  const rows = keys.map(({ id, created, host, user, role, keyEpoch, label = '' }) => [
    full ? id : shortId(id),
    formatTime(created),
    escapeForTerminal(host),
    escapeForTerminal(user),
    role,
    ...(hasEpochs ? [String(keyEpoch)] : []),
    escapeForTerminal(label),
  ]);
  return formatTable(rows, {
    head: ['ID', 'Created', 'Host', 'User', 'Role', ...(hasEpochs ? ['Epoch'] : []), 'Label'],
    shortened: [
      { column: hasEpochs ? 6 : 5, keeps: 'start' },
      { column: 2, keeps: 'start' },
    ],
  });
}

function keyFields({ id, created, host, user, role, keyEpoch, label, kdf }: ListedKey): Record<string, unknown> {
  return {
    id,
    created,
    host,
    user,
    role,
    label,
    epoch: keyEpoch,
    kdf: { algorithm: 'argon2id', memory_kib: kdf.memoryKib, passes: kdf.passes, lanes: kdf.lanes },
  };
}

/** Reports `key add` and `key import`. */
export function reportAddedKey(output: Output, { keyIds, role, label }: AddKeyResult): void {
  output.complete(`Added: ${keyIds.map(shortId).join(', ')}.`);
  output.message('summary', { key_ids: keyIds, role, label });
  const labelled = label === undefined ? '' : `, ${escapeForTerminal(label)}`;
  output.remark(`added key ${keyIds.map(shortId).join(', ')} (${role}${labelled})`);
}

/** Reports `key passwd`. */
export function reportChangedPassword(output: Output, { keyIds, replacedIds }: ChangePasswordResult): void {
  output.complete('The password is changed.');
  output.message('summary', { key_ids: keyIds, replaced_ids: replacedIds });
  const [added, replaced] = [keyIds, replacedIds].map((ids) => ids.map(shortId).join(', '));
  output.remark(`changed the password: key ${added} replaces ${replaced}`);
}

/** Reports `key rotate`: whose keys must be added again, and that pages on paper are outdated. */
export function reportRotation(output: Output, { epoch, keyId, removedIds, lost }: RotateResult): void {
  output.complete(`The master key is rotated: epoch ${epoch}.`);
  output.message('summary', { epoch, key_ids: [keyId], removed_ids: removedIds, lost_keys: lost.map(keyFields) });
  output.remark(`rotated the master key: epoch ${epoch}, key ${shortId(keyId)} for the password that was given`);
  if (lost.length > 0) {
    // Printed even with --quiet: these passwords no longer work.
    output.line(`${countNoun(lost.length, 'other key')} removed; add them again with \`ldm key add\`:`);
    output.line(formatKeys(lost, false));
  }
  output.remark('pages that were exported before do not open new backups: print a new one with `ldm key export`');
  output.remark('what was stored before is still sealed under the earlier key: see `ldm compact --reseal`');
}

/** Reports `key remove`. */
export function reportRemovedKeys(output: Output, ids: readonly string[]): void {
  output.complete(`Removed: ${ids.map(shortId).join(', ')}.`);
  output.message('summary', { removed_ids: ids });
  for (const id of ids) output.remark(`removed key ${shortId(id)}`);
}
