import { escapeForTerminal } from '../files/display-path.ts';
import { initRepository, repositoryExists } from '../operations/init.ts';
import { initFields } from './reports/init-report.ts';
import type { Session } from './session.ts';

/**
 * Makes the repository at the default place if it is not there yet, and says so. Any other place must have been made
 * with `init`, so that a mistyped name cannot start a new repository.
 */
export async function ensureRepository({ context, output, isDefaultRepository }: Session): Promise<void> {
  if (!isDefaultRepository || (await repositoryExists(context.backend))) return;
  const result = await initRepository(context);
  output.remark(`created a new repository at ${escapeForTerminal(result.location)}`);
  output.message('initialized', initFields(result));
  output.flush();
}
