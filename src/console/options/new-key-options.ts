import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { MAX_KEY_TEXT_LENGTH } from '../../core/format/constants.ts';
import { KEY_ROLES } from '../../core/format/key-file.ts';
import type { KeyRole } from '../../core/format/key-file.ts';
import { textValue } from './option-values.ts';
import type { NewPasswordFlags } from '../session.ts';

/** Options of the commands that add a key. */
export interface NewKeyFlags extends NewPasswordFlags {
  readonly role?: KeyRole;
  readonly label?: string;
}

/** `otherwise`: where the new password comes from without these options. */
export function addNewPasswordOptions(command: Command, otherwise: string): Command {
  return command
    .option('--new-password-file <file>', `take the new password from this file; default: ${otherwise}`)
    .option('--new-password-command <command>', 'take the new password from what this command prints');
}

export function addKeyOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--role <role>',
        'what the password is meant for (default: full); storage permissions must enforce it',
      ).choices(KEY_ROLES),
    )
    .option('--label <text>', 'a label to show in `ldm key list`', labelValue);
}

function labelValue(text: string): string {
  if (textValue(text).length <= MAX_KEY_TEXT_LENGTH) return text;
  throw new InvalidArgumentError(`Give at most ${MAX_KEY_TEXT_LENGTH} characters.`);
}
