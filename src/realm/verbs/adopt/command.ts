import type { Command } from 'commander';
import type { CommandRunner } from '../../../console/command-runner.ts';
import { EXIT_FAILURE, EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../../console/exit-codes.ts';
import { formatHelpFooter } from '../../../console/options/help-footer.ts';
import { addRemovalOptions, overriding } from '../../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../../console/options/removal-options.ts';
import { omitUndefined } from '../../../console/options/omit-undefined.ts';
import { textValue } from '../../../console/options/option-values.ts';

interface AdoptFlags extends RemovalFlags {
  readonly from?: string;
}

const DETAILS = `
\`ldm backup --rely-on DOMAIN\` leaves data to another domain of the realm. This command copies that data to this
repository. The other domain then no longer keeps it for this one. \`ldm snapshots\` shows which snapshots rely on
whom; those that no longer do get new ids.

Lending is experimental. It can cost the files that were left to a domain, if that is lost; space there, because a hold
keeps all of its chunks as long as one of them is needed; and time, because each of these chunks is fetched when it is
read. docs/domains.md says more. A full adoption ends all of this.`;

export function defineAdopt(program: Command, runner: CommandRunner): void {
  const command = program
    .command('adopt')
    .description('Copy to this repository what others keep for it (experimental).')
    .option('--from <domain>', 'only what this domain keeps (default: everything)', textValue)
    .option('-n, --dry-run', 'change nothing, only print how much would be copied');
  addRemovalOptions(command)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm adopt -n', 'how much do other domains keep?'],
          ['ldm adopt --from offsite', 'before the domain offsite leaves the realm'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, { from, ...flags }: AdoptFlags) => {
        const [{ adopt }, { reportAdopt }] = await Promise.all([import('./adopt.ts'), import('./report.ts')]);
        const result = await adopt(overriding(context, flags), omitUndefined({ from, dryRun: flags.dryRun }));
        reportAdopt(output, result);
        return result.failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
      }),
    );
}
