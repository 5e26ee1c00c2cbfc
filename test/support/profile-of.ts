import { createProgram } from '../../src/cli/program.ts';
import { createCommandRunner } from '../../src/console/command-runner.ts';
import { parseConfig } from '../../src/console/settings/config-file.ts';
import { profileOf } from '../../src/console/settings/profile.ts';
import type { Profile } from '../../src/console/settings/profile.ts';

/** Returns a profile of which only the content is given: tables are those below the profile. */
export async function profileWith(toml: string): Promise<Profile> {
  const text = `[profiles.x]\n${toml.replaceAll(/^\s*\[(?=[a-z])/gm, '[profiles.x.')}`;
  return profileOf(await parseConfig('config.toml', text), 'x', createProgram(createCommandRunner()));
}
