import { accessSync, constants, realpathSync, statSync } from 'node:fs';

import { errnoOf } from '../../core/backend/backend-failure.ts';
import { ServeError } from '../../core/errors.ts';
import type { Streams } from './sftp-server.ts';

export interface ServeOptions {
  /** Its path on this machine. */
  readonly directory: string;
  /** Clients can add to repositories in the directory, and neither change nor remove anything. */
  readonly isAppendOnly: boolean;
  /** The most that all files below the directory may take up; undefined for no limit. */
  readonly quotaBytes: number | undefined;
}

/**
 * Serves a directory to one SFTP client, as its `/`, until the client closes the connection.
 * @throws ServeError if there is no such directory, or the client does not speak SFTP
 */
export async function serve(options: ServeOptions, streams: Streams, signal: AbortSignal): Promise<void> {
  const { isAppendOnly, quotaBytes } = options;
  const directory = usableDirectory(options.directory);
  const [{ Quota }, { ServedDirectory }, { serveSftp }] = await Promise.all([
    import('./quota.ts'),
    import('./served-directory.ts'),
    import('./sftp-server.ts'),
  ]);
  const quota = quotaBytes === undefined ? undefined : new Quota(directory, quotaBytes);
  await serveSftp(new ServedDirectory(directory, { isAppendOnly, quota }), streams, signal);
}

/** Returns the path without symlinks. The client shows the last line of the message, so there is only one. */
function usableDirectory(given: string): string {
  try {
    const directory = realpathSync(given);
    if (!statSync(directory).isDirectory()) throw new ServeError(`cannot serve ${given}: it is not a directory`);
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    return directory;
  } catch (error) {
    if (error instanceof ServeError) throw error;
    const errno = errnoOf(error) ?? '';
    const reasons: Readonly<Record<string, string>> = {
      ENOENT: 'there is no such directory; is the disk mounted?',
      ENOTDIR: 'a part of the path is not a directory',
      EACCES: 'this user may not write to it',
      EROFS: 'the file system is mounted read-only',
    };
    throw new ServeError(`cannot serve ${given}: ${reasons[errno] ?? errno}`, { cause: error });
  }
}
