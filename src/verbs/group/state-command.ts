import type { Command } from 'commander';
import { addRemovalOptions, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

/** Each of the two commands undoes the other. */
const COMMANDS = {
  'read-only': {
    state: 'read-only',
    description: 'Write no new data to a group.',
    example: 'for an ageing disk; data on it can still be read and deleted',
  },
  activate: { state: 'active', description: 'Write new data to a group again.', example: 'undo read-only' },
} as const;

export function defineGroupState(group: Command, runner: CommandRunner, name: keyof typeof COMMANDS): void {
  const { state, description, example } = COMMANDS[name];
  addRemovalOptions(group.command(name).description(description).argument('<name>', 'the group'))
    .addHelpText(
      'after',
      formatHelpFooter({ examples: [[`ldm group ${name} a`, example]], exitCodes: REPOSITORY_EXIT_CODES }),
    )
    .action(
      runner.inSession(async ({ context, output }, groupName: string, flags: RemovalFlags) => {
        const [{ setGroupState }, { reportGroupChange }] = await Promise.all([
          import('./groups.ts'),
          import('./report.ts'),
        ]);
        reportGroupChange(output, 'changed', await setGroupState(overriding(context, flags), groupName, state));
        return EXIT_SUCCESS;
      }),
    );
}
