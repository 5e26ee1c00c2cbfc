import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { CommandRunner, Surroundings } from '../../console/command-runner.ts';
import { ALL_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

const DETAILS = `
Asks on the terminal what to back up, where to, where the password is kept and how often to run. Then it shows all
commands, and after a yes it runs them: it adds a profile to the configuration file, creates the repository or uses the
one that is there, has systemd or cron start the runs, and makes the first backup. Until the yes, nothing is changed. If
a command fails, run it again and name the same profile: it goes on with what is not done.`;

/** Passes `ldm config check`. */
const EXAMPLE = `# Put this into the configuration file (\`ldm config path\` prints where it is), and change it.
[profiles.default]
# Or sftp:user@host:/path, s3:https://endpoint/bucket/prefix, rclone:remote:path
repo = "/mnt/usb/ldm"
# Make it with mode 600.
password-file = "~/.config/ldm/default.password"

[profiles.default.backup]
paths = ["~/"]

[profiles.default.run]
schedule = "daily"

# Then:
#   ldm config check
#   ldm init
#   ldm schedule add
#   ldm run
`;

/** Settings that commands take before those of the profile: they would use another repository or another password. */
const OVERRIDING = [
  'LDM_REPOSITORY',
  'LDM_PASSWORD',
  'LDM_PASSWORD_FILE',
  'LDM_PASSWORD_COMMAND',
  'LDM_NO_ENCRYPTION',
  'LDM_PROFILE',
];
const ACCEPTED = new Set(['repo', 'profile', 'json', 'quiet', 'verbose', 'progress']);

export function defineSetup(program: Command, runner: CommandRunner): void {
  program
    .command('setup')
    .description('Ask what to back up, where to and how often; set all of that up.')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm setup', 'begin, or go on after a failure'],
          ['ldm setup < /dev/null', 'print an example of the configuration file'],
        ],
        exitCodes: ALL_EXIT_CODES.filter((code) => code !== 4 && code !== 5),
      }),
    )
    .action(
      runner.withoutSession(async (surroundings) => {
        assertUsable(surroundings);
        const { setUp } = await import('./set-up.ts');
        return await setUp(surroundings);
      }),
    );
}

/** @throws UsageError */
function assertUsable({ output, program }: Surroundings): void {
  if (output.json) {
    throw new UsageError('setup asks questions on a terminal, so it cannot be used with --json', {
      hint: 'A program writes the configuration file (`ldm config schema`), and runs `ldm init` and `ldm run`.',
    });
  }
  const { options } = program;
  const misplaced = options.find((option) => {
    const name = option.attributeName();
    return program.getOptionValueSource(name) === 'cli' && !ACCEPTED.has(name);
  });
  if (misplaced !== undefined)
    throw new UsageError(`${misplaced.long} cannot be used with setup`, { hint: 'Add it to the profile afterwards.' });
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    output.line(EXAMPLE.trimEnd());
    throw new UsageError('setup asks questions, and there is no terminal to ask on', {
      hint: 'Run it on a terminal, or write the configuration file yourself, as in the example above.',
    });
  }
  const variable = OVERRIDING.find((name) => process.env[name] !== undefined);
  if (variable === undefined) return;
  throw new UsageError(`${variable} is set, and commands would use it instead of what the profile says`, {
    hint: `Run \`unset ${variable}\` first.`,
  });
}
