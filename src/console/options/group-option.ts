import { InvalidArgumentError } from 'commander';
import type { Option } from 'commander';
import { GROUP_MEMBERS } from '../../core/snapshots/snapshot-groups.ts';
import type { GroupMember } from '../../core/snapshots/snapshot-groups.ts';

/** `host,paths,tags`, any of them; `path` and `tag` are accepted too. Empty: no groups. */
export function groupByValue(text: string): GroupMember[] {
  if (text === '') return [];
  const names = text.split(',').map((name) => GROUP_MEMBERS.find((each) => each === name || each === `${name}s`));
  const members = names.filter((name) => name !== undefined);
  if (members.length < names.length || new Set(members).size < members.length) {
    throw new InvalidArgumentError(
      "Give host, paths and tags, or some of them, separated by commas; '' for no groups.",
    );
  }
  return members;
}

/** Returns whether an empty value has a meaning for an option. Any other option refuses it. */
export function acceptsEmptyValue({ parseArg }: Option): boolean {
  return parseArg === groupByValue;
}
