import type { Backend } from '../backend/backend.ts';
import { BackendError, CorruptDataError, RepositoryNotFoundError } from '../errors.ts';
import { decodeConfig } from '../format/config.ts';
import type { RepositoryConfig } from '../format/config.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME } from './layout.ts';

export interface ConfigProblem {
  readonly name: string;
  readonly message: string;
}

/** The configuration, from its copy where the first is damaged or missing. */
export async function readConfig(backend: Backend): Promise<RepositoryConfig> {
  return (await inspectConfig(backend)).config;
}

export async function repositoryExists(backend: Backend): Promise<boolean> {
  try {
    const sizes = [await backend.sizeOf(CONFIG_NAME), await backend.sizeOf(CONFIG_COPY_NAME)];
    return sizes.some((size) => size !== undefined);
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

/** As `readConfig`, and what is wrong with either file. */
export async function inspectConfig(
  backend: Backend,
): Promise<{ readonly config: RepositoryConfig; readonly problems: readonly ConfigProblem[] }> {
  const problems: ConfigProblem[] = [];
  const configs: RepositoryConfig[] = [];
  let absentCount = 0;
  for (const name of [CONFIG_NAME, CONFIG_COPY_NAME]) {
    try {
      configs.push(decodeConfig(await backend.read(name)));
    } catch (error) {
      if (isAbsent(error)) absentCount += 1;
      else if (!(error instanceof CorruptDataError)) throw error;
      problems.push({ name, message: `${name}: ${(error as Error).message}` });
    }
  }
  const config = configs[0];
  if (config !== undefined) return { config, problems };
  if (absentCount === 2) {
    throw new RepositoryNotFoundError(`there is no repository at ${backend.location}`, {
      hint: 'Make one with `ldm -r <place> init`, or name the right place with -r or LDM_REPOSITORY.',
    });
  }
  throw new CorruptDataError(`both copies of the configuration are unreadable: ${problems[0]?.message ?? ''}`, {
    hint: 'Put back a copy of the file `config` from another copy of this repository; without its key no chunk has a name.',
  });
}

function isAbsent(error: unknown): boolean {
  return error instanceof BackendError && (error.errno === 'ENOENT' || error.errno === 'ENOTDIR');
}
