import { existsSync, readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Backend } from '../backend/backend.ts';
import { RepositoryNotFoundError } from '../errors.ts';
import type { Advice } from '../errors.ts';

/** Describes a place that has no repository: the cause may be a typing error or a disk that is not mounted. */
export function missingRepository({ location, localDirectory }: Backend): RepositoryNotFoundError {
  const absent = `there is no repository at ${location}`;
  const create: Advice = { code: 'create-repository', subject: location };
  const missing = localDirectory === undefined ? undefined : firstMissing(localDirectory);
  if (missing !== undefined && missing === localDirectory)
    return notFound(`${absent}: the directory does not exist`, create);
  if (missing !== undefined) {
    const message = `${absent}: ${missing} does not exist; is the disk mounted?`;
    return notFound(message, { code: 'mount-or-create-repository' });
  }
  const names = localDirectory === undefined ? undefined : namesIn(localDirectory);
  if (names === 'not a directory') return notFound(`${location} is a file, not a repository`, ELSEWHERE);
  if (names?.length === 0) return notFound(`${absent}: the directory is empty; is the disk mounted?`, create);
  return names === undefined
    ? notFound(absent, create)
    : notFound(`${location} is a directory, but not a repository`, ELSEWHERE);
}

const ELSEWHERE: Advice = { code: 'choose-other-place' };

function notFound(message: string, advice: Advice): RepositoryNotFoundError {
  return new RepositoryNotFoundError(message, { advice });
}

/** Returns the first missing directory of the path. Returns undefined if the path exists. */
function firstMissing(path: string): string | undefined {
  let missing: string | undefined;
  for (let current = path; !existsSync(current); current = dirname(current)) missing = current;
  return missing;
}

/** Returns undefined if the directory cannot be read. */
function namesIn(directory: string): string[] | 'not a directory' | undefined {
  try {
    return readdirSync(directory);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOTDIR' ? 'not a directory' : undefined;
  }
}
