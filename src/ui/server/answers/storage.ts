import { statfs } from 'node:fs/promises';
import { surveyStorage } from '../../../index.ts';
import { checksDirectoryOf, recallCheck } from '../../../console/check-memory.ts';
import type { StorageAnswer } from '../../api/overview.ts';
import type { CurrentRepository } from '../current-repository.ts';

/** Says how large the repository is, how much is free, and what was verified. */
export async function answerStorage(repository: CurrentRepository, signal: AbortSignal): Promise<StorageAnswer> {
  return await repository.run(async (context) => {
    const { repositoryId, repositoryBytes, packBytes, verifiedBytes, oldestVerified } = await surveyStorage({
      ...context,
      signal,
    });
    const lastCheck = recallCheck(checksDirectoryOf(process.env), repositoryId);
    return {
      bytes: repositoryBytes,
      ...(await diskOf(context.backend.location)),
      packBytes,
      verifiedBytes,
      ...(oldestVerified === undefined ? {} : { oldestVerified }),
      ...(lastCheck === undefined ? {} : { lastCheck }),
    };
  });
}

async function diskOf(location: string): Promise<Pick<StorageAnswer, 'freeBytes' | 'diskBytes'>> {
  try {
    const { bavail, blocks, bsize } = await statfs(location);
    return { freeBytes: bavail * bsize, diskBytes: blocks * bsize };
  } catch {
    // On another machine.
    return {};
  }
}
