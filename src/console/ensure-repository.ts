import { initRepositoryIfMissing, repositoryExists } from '../core/creating/init.ts';
import { describeCreated, initFields } from './reports/init-report.ts';
import type { Session } from './session.ts';

/**
 * Creates the repository at the default place if it does not exist yet. Any other repository must be created with
 * `init`, so that a mistyped name does not start a new one.
 */
export async function ensureRepository(session: Session): Promise<void> {
  const { context, output, isDefaultRepository } = session;
  // A backup that finds nothing new relies on what is stored all the same.
  session.retention.add(context.backend.location);
  if (!isDefaultRepository || (await repositoryExists(context.backend))) return;
  // Two first backups may begin at the same moment.
  const outcome = await initRepositoryIfMissing(context);
  if (!outcome.isNew) return;
  output.remark(describeCreated(outcome.created));
  output.message('initialized', initFields(outcome.created));
  output.flush();
}
