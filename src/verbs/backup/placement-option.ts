import { Option } from 'commander';
import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { BackupOptions } from './backup.ts';
import type { RepositoryChoice, RepositoryPolicy } from './choose-repository.ts';
import { contextAt } from '../../core/session/context.ts';
import type { OperationContext, OtherRepository } from '../../core/session/context.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import { collect } from '../../console/options/option-values.ts';
import type { Session } from '../../console/session.ts';

export interface PlacementFlags {
  readonly to?: RepositoryPolicy;
  readonly candidate?: readonly string[];
}

export const PLACEMENT_HELP = `
With --to, the backup goes to one of several repositories: those of each --candidate, and that of -r if it is given. All
have the same password. "best" is the one that already holds most of the data, "emptiest" the smallest one, and "any" one
at random. A repository that cannot be reached is left out. "best" reads what has changed once for each repository.`;

const FIGURES: Readonly<Record<RepositoryPolicy, string>> = { best: 'lacks', emptiest: 'has', any: '' };

export function addPlacementOptions(command: Command): Command {
  return command
    .addOption(new Option('--to <policy>', 'choose one of several repositories').choices(['best', 'emptiest', 'any']))
    .option('--candidate <repository>', 'a further repository for --to; may be repeated', collect);
}

/** Returns the context of the repository that gets the backup. */
export async function placeBackup(
  session: Session,
  { to, candidate = [] }: PlacementFlags,
  options: BackupOptions,
): Promise<OperationContext> {
  const { context } = session;
  if (to === undefined) {
    if (candidate.length === 0) return context;
    throw new UsageError('--candidate needs --to', { hint: 'Add --to best, --to emptiest or --to any.' });
  }
  const candidates: OtherRepository[] = session.isDefaultRepository ? [] : [context];
  for (const place of candidate) candidates.push(await session.openOther(place, {}, ''));
  if (candidates.length < 2)
    throw new UsageError(`--to ${to} needs two repositories or more`, { hint: 'Name them with --candidate.' });
  const { chooseRepository } = await import('./choose-repository.ts');
  const choice = await chooseRepository(context, candidates, to, options);
  reportChoice(session, to, choice);
  return contextAt(context, choice.chosen);
}

function reportChoice({ output }: Session, policy: RepositoryPolicy, { chosen, asked }: RepositoryChoice): void {
  const { location } = chosen.backend;
  const figures = asked.map(({ place, sizeBytes }) => ({ repository: place, bytes: sizeBytes }));
  output.message('placement', { policy, repository: location, candidates: figures });
  for (const { place, sizeBytes } of asked) {
    if (sizeBytes === undefined) continue;
    output.remark(`repository ${escapeForTerminal(place)} ${FIGURES[policy]} ${formatBytes(sizeBytes)}`);
  }
  output.remark(`backing up to ${escapeForTerminal(location)}`);
}
