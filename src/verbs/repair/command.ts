import type { Command } from 'commander';
import { addRemovalOptions, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { withDomains } from '../../console/options/from-domains.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';

interface RepairFlags extends RemovalFlags {
  readonly dryRun?: boolean;
  readonly fromDomains?: boolean;
}

export function defineRepair(program: Command, runner: CommandRunner): void {
  const command = program
    .command('repair')
    .description(
      'Rebuild what can be rebuilt in a damaged repository. Rebuilds segments and filter from packs and snapshots, and replaces damaged or missing copies. Damaged files are set aside, not erased.',
    )
    .option('--from-domains', 'fetch what is lost here from the other domains of the realm, and store it again')
    .option('-n, --dry-run', 'change nothing, only print what would be done');
  addRemovalOptions(command)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm repair --dry-run', 'print what it would do'],
          ['ldm repair', 'repair what can be repaired'],
          ['ldm repair --from-domains', 'with the chunks that other domains have'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: { 4: 'damage remains that cannot be repaired' },
      }),
    )
    .action(
      runner.inSession(async (session, flags: RepairFlags) => {
        const { output } = session;
        const context = overriding(session.context, flags);
        const [{ repair }, { reportRepair, exitCodeOfRepair }] = await Promise.all([
          import('./repair.ts'),
          import('./report.ts'),
        ]);
        const { dryRun } = flags;
        const result = await withDomains(session, flags, async (domains) =>
          repair(context, { ...omitUndefined({ dryRun }), ...domains }),
        );
        reportRepair(output, result);
        return exitCodeOfRepair(result);
      }),
    );
}
