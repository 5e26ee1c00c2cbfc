import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Takes the keys of a remote from the variables of Amazon, in a configuration or in a remote on the command line. */
const ENV_AUTH = /env_auth\s*=\s*["']?true/i;
/** Its contents are unknown. */
const ENCRYPTED = /^RCLONE_ENCRYPT/m;

/** Whether a remote of rclone may take its keys from the variables of Amazon, which no other program needs. */
export function usesKeysOfAmazon(words: readonly string[], environment: NodeJS.ProcessEnv): boolean {
  const isSet = ([name, value]: [string, string | undefined]): boolean =>
    /^RCLONE_.*ENV_AUTH$/.test(name) && value?.toLowerCase() === 'true';
  if (Object.entries(environment).some(isSet) || words.some((word) => ENV_AUTH.test(word))) return true;
  const { RCLONE_CONFIG, XDG_CONFIG_HOME, HOME = homedir() } = environment;
  const files = [
    RCLONE_CONFIG,
    join(XDG_CONFIG_HOME ?? join(HOME, '.config'), 'rclone', 'rclone.conf'),
    join(HOME, '.rclone.conf'),
  ];
  return files.some((file) => {
    const text = file === undefined ? '' : readIfPossible(file);
    return ENV_AUTH.test(text) || ENCRYPTED.test(text);
  });
}

/** rclone itself reports what it cannot read. */
function readIfPossible(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
