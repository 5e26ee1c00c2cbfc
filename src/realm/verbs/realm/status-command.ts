import type { Command } from 'commander';
import type { CommandRunner } from '../../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../../console/exit-codes.ts';
import { formatHelpFooter } from '../../../console/options/help-footer.ts';

const DETAILS = `
A plane says which positions of the filter of a domain are used. "current": as it was published; "being published": a file
of the next one is there, and the record does not name it yet; "none": the domain has joined, and has published nothing;
"stale": what the record names cannot be loaded, and a line below says why. If a plane stays "being published", the process
that published it has ended; the next command that changes the repository, or \`ldm realm publish\` there, goes on.`;

export function defineRealmStatus(realm: Command, runner: CommandRunner): void {
  realm
    .command('status')
    .description('List the members of the realm: whether they can be reached, and what they have published.')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [['ldm realm status', 'all members, this repository first']],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }) => {
        const [{ realmStatus }, { reportRealm }] = await Promise.all([
          import('./status.ts'),
          import('./status-report.ts'),
        ]);
        reportRealm(output, await realmStatus(context));
        return EXIT_SUCCESS;
      }),
    );
}
