import { InvalidArgumentError } from 'commander';
import type { Command, Option } from 'commander';
import { isRepeatable } from './option-values.ts';

/**
 * Refuses, in every command, two mistakes that commander accepts: an empty value, which usually comes from an unset
 * shell variable, and a second value for an option that takes one.
 */
export function makeStrict(command: Command): void {
  for (const option of command.options) if (option.required || option.optional) makeStrictOption(command, option);
  command.hook('preAction', (_, action) => {
    if (action.args.includes('')) action.error('error: an argument is empty', { exitCode: 2 });
  });
  for (const child of command.commands) makeStrict(child);
}

function makeStrictOption(command: Command, option: Option): void {
  let count = 0;
  command.on(`option:${option.name()}`, (value: string | null) => {
    count += 1;
    const name = option.long ?? option.flags;
    const noun = /<([^>]+)>|\[([^\]]+)\]/
      .exec(option.flags)
      ?.slice(1)
      .find((each) => each !== undefined);
    if (value === '') throw new InvalidArgumentError(`${name} needs a ${noun ?? 'value'} that is not empty`);
    if (count > 1 && !isRepeatable(option)) throw new InvalidArgumentError(`${name} was given more than once`);
  });
}
