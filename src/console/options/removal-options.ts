import type { Command } from 'commander';

/** The options of all commands that remove or replace something. */
export interface RemovalFlags {
  readonly overrideAppendOnly?: boolean;
  readonly acceptOlderState?: boolean;
  readonly dryRun?: boolean;
}

export function addRemovalOptions(command: Command): Command {
  return addOlderStateOption(
    command.option('--override-append-only', 'do it in an append-only repository, too (see init --append-only)'),
  );
}

/** For changes of keys, which also remove keys from the copies in groups. */
export function addOlderStateOption(command: Command): Command {
  return command.option('--accept-older-state', 'do it although there is, or may be, a newer state of the repository');
}

/** Adds to the context of an operation what the user overrides. */
export function overriding<Context extends object>(
  context: Context,
  flags: RemovalFlags,
): Context & { readonly overridesAppendOnly: boolean; readonly acceptsOlderState: boolean | 'once' } {
  return {
    ...context,
    overridesAppendOnly: flags.overrideAppendOnly === true,
    acceptsOlderState: flags.acceptOlderState === true && (flags.dryRun === true ? 'once' : true),
  };
}
