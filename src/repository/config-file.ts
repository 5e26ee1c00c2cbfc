import { isDeepStrictEqual } from 'node:util';
import type { Backend } from '../backend/backend.ts';
import { isNothingThere } from '../backend/repository-exists.ts';
import { CorruptDataError, isDamage } from '../errors.ts';
import { decodeConfig } from '../format/config.ts';
import type { RepositoryConfig } from '../format/config.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME } from '../format/layout.ts';
import { missingRepository } from './missing-repository.ts';

export interface ConfigProblem {
  readonly name: string;
  readonly message: string;
}

/** Reads the configuration, or its copy if the first file is damaged or missing. */
export async function readConfig(backend: Backend): Promise<RepositoryConfig> {
  return (await inspectConfig(backend)).config;
}

/**
 * Like `readConfig`, but also returns the problems of both files. Throws errors for which `isFinding` is false.
 * @throws CorruptDataError also if both files are valid but differ: with the wrong one, every chunk or pack would seem
 * damaged
 */
export async function inspectConfig(
  backend: Backend,
  isFinding: (error: unknown) => boolean = isDamage,
): Promise<{ readonly config: RepositoryConfig; readonly problems: readonly ConfigProblem[] }> {
  const problems: ConfigProblem[] = [];
  const configs: RepositoryConfig[] = [];
  let absentCount = 0;
  for (const name of [CONFIG_NAME, CONFIG_COPY_NAME]) {
    try {
      configs.push(decodeConfig(await backend.read(name)));
    } catch (error) {
      if (isNothingThere(error)) absentCount += 1;
      else if (!isFinding(error)) throw error;
      problems.push({ name, message: `${name}: ${(error as Error).message}` });
    }
  }
  if (configs.length === 2 && !isDeepStrictEqual(configs[0], configs[1])) {
    throw new CorruptDataError('config and config.bak are both valid, but differ', {
      advice: { code: 'tell-configurations-apart' },
    });
  }
  const [config] = configs;
  if (config !== undefined) return { config, problems };
  if (absentCount === 2) throw await missingRepository(backend);
  throw new CorruptDataError(`neither copy of the configuration can be read: ${problems[0]?.message ?? ''}`, {
    hint: 'Restore the file `config` from another copy of this repository: without its key, no chunk can be found.',
  });
}
