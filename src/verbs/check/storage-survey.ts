import { measureVerified, readVerified } from '../../core/damage/verified-records.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { withRepository } from '../../core/session/session.ts';

/** What a repository takes, and how much of it was verified. */
export interface StorageSurvey {
  readonly repositoryId: string;
  /** The size of all files. */
  readonly repositoryBytes: number;
  readonly packBytes: number;
  /** The size of the packs that checks with `maxAgeMs` have verified, with each copy that can be reached. */
  readonly verifiedBytes: number;
  /** When the first of these was verified (RFC 3339). Undefined if there are none. */
  readonly oldestVerified: string | undefined;
}

/** Surveys what is stored. Reads only names, and the records of what was verified. */
export async function surveyStorage(context: OperationContext): Promise<StorageSurvey> {
  return await withRepository(context, 'read', async (repository) => {
    const { times } = await readVerified(repository, Date.now(), (name, reason) =>
      context.onNotice?.({ kind: 'verified-record-damaged', name, reason }),
    );
    const { packBytes, verifiedBytes, oldest: oldestVerified } = await measureVerified(repository, times);
    const { repositoryId } = repository.config;
    return {
      repositoryId,
      repositoryBytes: (await repository.files.measure()).sizeBytes,
      packBytes,
      verifiedBytes,
      oldestVerified,
    };
  });
}
