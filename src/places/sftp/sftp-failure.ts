import { backendFailure } from '../../core/backend/backend-failure.ts';
import type { BackendFailure } from '../../core/backend/backend-failure.ts';
import { STATUS, hasStatus, statusOf } from './sftp-calls.ts';
import { UnreadableError } from './sftp-calls.ts';
import { NotDirectoryError, outerOf } from './sftp-directories.ts';
import { ConnectionLostError, SftpStatusError, WrongAnswerError } from './sftp-connection.ts';
import type { SftpConnection } from './sftp-connection.ts';

/** The errors that a server names. Everything else is a `FAILURE`. */
const ERRNOS: Readonly<Record<number, string>> = {
  [STATUS.NO_SUCH_FILE]: 'ENOENT',
  [STATUS.PERMISSION_DENIED]: 'EACCES',
  [STATUS.UNSUPPORTED]: 'ENOSYS',
  [STATUS.WRITE_PROTECT]: 'EROFS',
  [STATUS.NO_SPACE_ON_FILESYSTEM]: 'ENOSPC',
  [STATUS.QUOTA_EXCEEDED]: 'EDQUOT',
};

/** What OpenSSH says, and what says nothing about the reason. */
const PERMISSION_TEXT = 'Permission denied';

/** There is a file of that name. */
class ExistsError extends Error {}

/** The file system of the server is full. */
class FullError extends Error {}

const UNREADABLE_TEXT = 'the server opens it and cannot read it, as on a failing disk';

/** ssh has said more than the reason, such as which host key has changed. */
const CONNECT_HINT = 'Connect with `sftp` to see all messages. Once that works, run the command again.';

/** Less than this is left by a write that did not fit. */
const FULL_BYTES = 1024 * 1024;

/** Turns a failure into one that says that the path exists, if it does. A server has no number for that. */
export async function existsOr(connection: SftpConnection, path: string, error: unknown): Promise<unknown> {
  const isThere = hasStatus(error, STATUS.FAILURE) && (await statusOf(connection, path)) !== undefined;
  return isThere ? new ExistsError() : error;
}

/**
 * Turns a failure into one that says that there is no space, if there is none. A server has no number for that either.
 * @param path - of a directory that may not exist yet
 */
export async function fullOr(connection: SftpConnection, path: string, error: unknown): Promise<unknown> {
  if (!hasStatus(error, STATUS.FAILURE) || !connection.has('statvfs@openssh.com', '2')) return error;
  try {
    const space = await connection.request<Space>((protocol, done) =>
      protocol.ext_openssh_statvfs(path, done as never),
    );
    const hasBytes = space.f_bavail * space.f_frsize >= FULL_BYTES;
    // File systems without a limit on the number of files report none at all.
    const hasFiles = space.f_files === 0 || space.f_favail > 0;
    return hasBytes && hasFiles ? error : new FullError();
  } catch (statvfsError) {
    if (!(statvfsError instanceof SftpStatusError)) throw statvfsError;
    const outer = outerOf(path);
    const isAbsent = statvfsError.status === STATUS.NO_SUCH_FILE && outer !== path;
    return isAbsent ? await fullOr(connection, outer, error) : error;
  }
}

/** As in statvfs(3). */
interface Space {
  readonly f_frsize: number;
  readonly f_bavail: number;
  readonly f_files: number;
  readonly f_favail: number;
}

/** Some servers say in words why there is no room. */
function errnoSaid({ status, message }: SftpStatusError): string | undefined {
  if (status !== STATUS.FAILURE) return undefined;
  if (/quota/i.test(message)) return 'EDQUOT';
  return /no space|disk (?:is )?full|insufficient space/i.test(message) ? 'ENOSPC' : undefined;
}

/** Returns the error of a backend for anything that a step has thrown. */
export function sftpFailure(step: Omit<BackendFailure, 'errno'>, wasConnected: boolean): unknown {
  const { cause } = step;
  if (cause instanceof ConnectionLostError) {
    const reason = cause.message;
    return wasConnected
      ? backendFailure({ ...step, errno: 'ECONNRESET', reason })
      : backendFailure({ ...step, operation: 'connect', name: '', errno: undefined, reason, hint: CONNECT_HINT });
  }
  if (cause instanceof WrongAnswerError) return backendFailure({ ...step, errno: undefined, reason: cause.message });
  if (cause instanceof ExistsError) return backendFailure({ ...step, errno: 'EEXIST' });
  if (cause instanceof NotDirectoryError) return backendFailure({ ...step, errno: 'ENOTDIR' });
  if (cause instanceof FullError) return backendFailure({ ...step, errno: 'ENOSPC' });
  if (cause instanceof UnreadableError) return backendFailure({ ...step, errno: 'EIO', reason: UNREADABLE_TEXT });
  if (!(cause instanceof SftpStatusError)) return cause;
  const isExplained = cause.status === STATUS.PERMISSION_DENIED && cause.message !== PERMISSION_TEXT;
  if (isExplained) return backendFailure({ ...step, errno: undefined, kind: 'denied', reason: cause.message });
  return backendFailure({ ...step, errno: ERRNOS[cause.status] ?? errnoSaid(cause) });
}
