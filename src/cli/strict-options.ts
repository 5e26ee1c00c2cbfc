import type { EventEmitter } from 'node:events';
import { InvalidArgumentError } from 'commander';
import type { Command, Option } from 'commander';
import { acceptsEmptyValue } from '../console/options/group-option.ts';
import { isRepeatable } from '../console/options/option-values.ts';

/**
 * Refuses, in every command, two mistakes that commander accepts: an empty value, which usually comes from an unset
 * shell variable, and a second value for an option that takes one.
 */
export function makeStrict(command: Command): void {
  for (const option of command.options) if (option.required || option.optional) makeStrictOption(command, option);
  command.hook('preAction', (_, action) => {
    // The word at the cursor of a shell may be empty.
    if (action.args.includes('') && action.name() !== 'complete')
      action.error('error: an argument is empty', { exitCode: 2 });
  });
  for (const child of command.commands) makeStrict(child);
}

function makeStrictOption(command: Command, option: Option): void {
  let count = 0;
  const check = (value: string | null): void => {
    count += 1;
    const name = option.long ?? option.flags;
    if (value === '' && !acceptsEmptyValue(option)) throw new InvalidArgumentError(`the value of ${name} is empty`);
    if (count > 1 && !isRepeatable(option)) throw new InvalidArgumentError(`${name} was given more than once`);
  };
  // Before the listener of commander, which parses the value and would complain about an empty one in another way.
  (command as unknown as EventEmitter).prependListener(`option:${option.name()}`, check);
}
