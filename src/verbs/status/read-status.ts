import { statfsSync } from 'node:fs';
import type { Command } from 'commander';
import { LdmError, UsageError } from '../../core/errors.ts';
import { type RunRecord, RunRecords, hasSucceeded, runsDirectory } from '../../console/jobs/run-records.ts';
import { readConfigFile } from '../../console/settings/config-file.ts';
import { configPath } from '../../console/settings/directories.ts';
import { profileOf } from '../../console/settings/profile.ts';
import { resolveLocation } from '../../console/settings/settings.ts';

/** What this machine knows of a profile, without opening its repository. */
export interface ProfileStatus {
  readonly profile: string;
  /** The repository; undefined if the profile names none. */
  readonly repository: string | undefined;
  readonly lastRun: RunRecord | undefined;
  /** The last run in which the step `backup` has made a snapshot. */
  readonly lastBackup: RunRecord | undefined;
  readonly lastCheck: RunRecord | undefined;
  /** As it is written in the profile. */
  readonly schedule: string | undefined;
  /** On the file system of a repository on this machine. */
  readonly freeBytes: number | undefined;
  /** What is wrong with the profile. */
  readonly fault: string | undefined;
  /** Why the records of its runs cannot be read. Nothing is known of them then. */
  readonly recordsFault: string | undefined;
}

/** @throws UsageError if there is no configuration file */
export async function readStatus(program: Command): Promise<ProfileStatus[]> {
  const path = configPath(process.env);
  const config = await readConfigFile(path);
  if (config === undefined) {
    throw new UsageError(`there are no profiles: ${path ?? 'a home directory'} does not exist`, {
      hint: 'See `ldm config --help` for an example.',
    });
  }
  const directory = runsDirectory(process.env);
  return Object.keys(config.profiles).map((profile) => {
    const { runs, recordsFault } = runsOf(directory, profile);
    const known = {
      profile,
      recordsFault,
      lastRun: runs.at(-1),
      lastBackup: runs.findLast(({ snapshotId }) => snapshotId !== undefined),
      lastCheck: runs.findLast((run) => hasSucceeded(run, 'check')),
    };
    try {
      const { table } = profileOf(config, profile, program);
      const repository = table.options['repo'] as string | undefined;
      const schedule = table.run?.schedule?.text;
      return { ...known, repository, schedule, freeBytes: freeBytesOf(repository), fault: undefined };
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      return { ...known, repository: undefined, schedule: undefined, freeBytes: undefined, fault: error.message };
    }
  });
}

function runsOf(
  directory: string | undefined,
  profile: string,
): Pick<ProfileStatus, 'recordsFault'> & { readonly runs: RunRecord[] } {
  try {
    const runs = directory === undefined ? [] : new RunRecords(directory, profile).readBeside();
    return { runs, recordsFault: undefined };
  } catch (error) {
    if (!(error instanceof LdmError)) throw error;
    return { runs: [], recordsFault: error.message };
  }
}

/** Undefined for a place on another machine, and for a disk that is not there. */
function freeBytesOf(repository: string | undefined): number | undefined {
  if (repository === undefined) return undefined;
  try {
    const location = resolveLocation(repository);
    const { bavail, bsize } = statfsSync(location);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}
