import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { EXIT_SUCCESS, EXIT_USAGE } from '../../console/exit-codes.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { countNoun } from '../../console/output/words.ts';
import { type ConfigFile, readConfigFile } from '../../console/settings/config-file.ts';
import { configPath } from '../../console/settings/directories.ts';
import { findFaults } from '../../console/settings/profile.ts';

/** Reports all faults of the configuration file. Returns the exit code. */
export async function checkConfig(output: Output, program: Command): Promise<number> {
  const config = await requireConfig();
  const faults = findFaults(config, program).map(({ error }) => error);
  reportFaults(output, faults);
  const profileCount = Object.keys(config.profiles).length;
  output.message('summary', { path: config.path, profiles: profileCount, faults: faults.length });
  output.remark(`${config.path}: ${countNoun(profileCount, 'profile')}, ${countNoun(faults.length, 'fault')}`);
  return faults.length === 0 ? EXIT_SUCCESS : EXIT_USAGE;
}

/** Prints each fault, with its advice if the one before had another. */
export function reportFaults(output: Output, faults: readonly UsageError[]): void {
  let lastHint: string | undefined;
  for (const { message, hint } of faults) {
    const advice = hint === undefined || hint === lastHint ? '' : `\n${hint}`;
    output.message('config_fault', { message, hint });
    if (!output.json) output.problem(`ldm: ${escapeForTerminal(message)}${advice}`, 'notice', {});
    lastHint = hint;
  }
}

/** @throws UsageError also if there is no configuration file */
export async function requireConfig(): Promise<ConfigFile> {
  const path = configPath(process.env);
  const config = await readConfigFile(path);
  if (config !== undefined) return config;
  throw new UsageError(`there is no configuration file: ${path ?? 'a home directory'} does not exist`, {
    hint: 'See `ldm config --help` for an example.',
  });
}
