import { RefusedError } from '../errors.ts';
import { initRepository, repositoryExists } from '../operations/init.ts';
import { describeCreated, initFields } from './reports/init-report.ts';
import type { Session } from './session.ts';

/**
 * Creates the repository at the default place if it does not exist yet. Any other repository must be created with
 * `init`, so that a mistyped name does not start a new one.
 */
export async function ensureRepository({ context, output, isDefaultRepository }: Session): Promise<void> {
  if (!isDefaultRepository || (await repositoryExists(context.backend))) return;
  const result = await unlessCreatedMeanwhile(context.backend, async () => initRepository(context));
  if (result === undefined) return;
  output.remark(describeCreated(result));
  output.message('initialized', initFields(result));
  output.flush();
}

/** Two first backups may begin at the same moment. Returns undefined if another process has created the repository. */
async function unlessCreatedMeanwhile<T>(
  backend: Session['context']['backend'],
  create: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await create();
  } catch (error) {
    if (error instanceof RefusedError && (await repositoryExists(backend))) return undefined;
    throw error;
  }
}
