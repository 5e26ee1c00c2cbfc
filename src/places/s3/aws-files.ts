import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { UsageError } from '../../core/errors.ts';

/** The settings of one profile. */
export type AwsProfile = Readonly<Record<string, string>>;

/**
 * Reads the profile of the tools of Amazon from `~/.aws/config` and `~/.aws/credentials`, which wins. `AWS_PROFILE` names
 * it. (AWS CLI User Guide, "Configuration and credential file settings")
 * @throws UsageError if a profile is named that neither file has
 */
export function readAwsProfile(environment: NodeJS.ProcessEnv): AwsProfile {
  const named = nonEmpty(environment['AWS_PROFILE']);
  const name = named ?? 'default';
  const config = readSections(pathOf(environment['AWS_CONFIG_FILE'], 'config'));
  const keys = readSections(pathOf(environment['AWS_SHARED_CREDENTIALS_FILE'], 'credentials'));
  const own = config.get(name === 'default' ? 'default' : `profile ${name}`) ?? config.get(`profile ${name}`);
  const secret = keys.get(name);
  if (named !== undefined && own === undefined && secret === undefined) {
    throw new UsageError(`there is no profile ${JSON.stringify(named)} in ~/.aws, but AWS_PROFILE names it`);
  }
  return { ...own, ...secret };
}

/** An empty variable counts as not set, as for the tools of Amazon. */
export function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value;
}

function pathOf(given: string | undefined, name: string): string {
  return nonEmpty(given) ?? join(homedir(), '.aws', name);
}

function readSections(path: string): Map<string, Record<string, string>> {
  const sections = new Map<string, Record<string, string>>();
  if (!existsSync(path)) return sections;
  let current: Record<string, string> = {};
  for (const line of readText(path).split(/\r?\n/)) {
    const header = /^\s*\[\s*(.*?)\s*\]/.exec(line)?.[1];
    if (header !== undefined) {
      current = sections.get(header) ?? {};
      sections.set(header.replaceAll(/\s+/g, ' '), current);
      continue;
    }
    // Lines with an indent are settings of one service.
    const [, key, value] = /^([A-Za-z0-9_]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key !== undefined && value !== undefined) current[key.toLowerCase()] = value;
  }
  return sections;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new UsageError(`cannot read the keys for S3: ${(cause as Error).message}`, { cause });
  }
}
