import type { Command } from 'commander';
import type { OperationContext } from '../operations/context.ts';

/** The option of all commands that remove or replace something. */
export interface AppendOnlyFlags {
  readonly overrideAppendOnly?: boolean;
}

export function addAppendOnlyOption(command: Command): Command {
  return command.option('--override-append-only', 'do it in an append-only repository, too (see init --append-only)');
}

export function overriding(context: OperationContext, flags: AppendOnlyFlags): OperationContext {
  return { ...context, overridesAppendOnly: flags.overrideAppendOnly === true };
}
