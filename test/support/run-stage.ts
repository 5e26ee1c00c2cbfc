import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { RunRecords, type RunRecord } from '../../src/console/jobs/run-records.ts';
import { runLdmHere } from './run-ldm-here.ts';
import type { RunLdmResult } from './run-ldm.ts';
import { memoryDirectory } from './temp-directory.ts';

/** A machine with a configuration file, a source and an empty repository. */
export interface RunStage {
  readonly place: string;
  /** The environment of its commands. */
  readonly env: Record<string, string>;
  readonly ldm: (...args: readonly string[]) => Promise<RunLdmResult>;
  /** The runs of a profile that are recorded. */
  readonly runs: (profile?: string) => RunRecord[];
  readonly records: (profile?: string) => RunRecords;
  /** The lines that programs of the profile have added to the file `log`. */
  readonly log: () => string[];
}

/** In `toml`, @ is the directory, and `note(x)` a program that adds a line with its argument to the file `log`. */
export async function setRunStage(toml: string): Promise<RunStage> {
  const place = memoryDirectory();
  const at = (...names: string[]): string => join(place, ...names);
  mkdirSync(at('config', 'ldm'), { recursive: true });
  mkdirSync(at('source'));
  writeFileSync(at('source', 'file'), 'content');
  const noted = toml.replaceAll(
    /note\(([^)]*)\)/g,
    (_, text: string) => `["sh", "-c", 'echo "$0" >> @/log', "${text}"]`,
  );
  writeFileSync(at('config', 'ldm', 'config.toml'), noted.replaceAll('@', place));
  const env = { XDG_CONFIG_HOME: at('config'), XDG_STATE_HOME: at('state'), XDG_CACHE_HOME: at('cache'), HOME: place };
  const ldm = async (...args: readonly string[]): Promise<RunLdmResult> => runLdmHere(args, { env });
  await ldm('-r', at('repository'), 'init', '--no-encryption');
  const records = (profile = 'home'): RunRecords => new RunRecords(at('state', 'ldm', 'runs'), profile);
  return {
    place,
    env,
    ldm,
    records,
    runs: (profile) => records(profile).read(false),
    log: () => (existsSync(at('log')) ? readFileSync(at('log'), 'utf8').split('\n').slice(0, -1) : []),
  };
}

/** A profile that works. Tables of it can follow. */
export const HOME = `
[defaults]
no-encryption = true
[profiles.home]
repo = "@/repository"
[profiles.home.backup]
paths = ["@/source"]
`;
