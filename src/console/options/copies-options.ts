import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import type { CopyRules } from '../../core/format/group-list.ts';

/** A number of references and of copies: `50:2`. */
function copiesIfRefsValue(text: string): NonNullable<CopyRules['copiesIfRefs']> {
  const [, refs, copies] = /^([1-9]\d{0,9}):([1-9]\d{0,3})$/.exec(text) ?? [];
  if (refs === undefined || Number(refs) < 2) {
    throw new InvalidArgumentError('Give a number of references and a number of copies, such as 50:2.');
  }
  return { refs: Number(refs), copies: Number(copies) };
}

export function addCopiesIfRefsOption(command: Command): Command {
  return command.option(
    '--copies-if-refs <refs:n>',
    'keep data that the files of all snapshots need at least this many times in n groups, such as 50:2',
    copiesIfRefsValue,
  );
}
