import { errnoOf } from '../../core/backend/backend-failure.ts';

/** Numbers of SSH_FXP_STATUS (draft-ietf-secsh-filexfer-02, section 7). */
export const STATUS = {
  OK: 0,
  EOF: 1,
  NO_SUCH_FILE: 2,
  PERMISSION_DENIED: 3,
  FAILURE: 4,
  BAD_MESSAGE: 5,
  UNSUPPORTED: 8,
} as const;

type Status = (typeof STATUS)[keyof typeof STATUS];

/** A request that is refused. The client sees the message. */
export class RequestError extends Error {
  readonly status: Status;

  constructor(status: Status, message: string) {
    super(message);
    this.status = status;
  }
}

/** As the server of OpenSSH does it. Everything else is a `FAILURE`. */
const STATUS_OF_ERRNO: Readonly<Record<string, Status>> = {
  ENOENT: STATUS.NO_SUCH_FILE,
  ENOTDIR: STATUS.NO_SUCH_FILE,
  ELOOP: STATUS.NO_SUCH_FILE,
  EACCES: STATUS.PERMISSION_DENIED,
  EPERM: STATUS.PERMISSION_DENIED,
  ENAMETOOLONG: STATUS.BAD_MESSAGE,
  EINVAL: STATUS.BAD_MESSAGE,
};

/** These texts are what clients expect. The one of the system has paths of the server. */
const TEXTS: Readonly<Record<number, string>> = {
  [STATUS.NO_SUCH_FILE]: 'No such file or directory',
  [STATUS.PERMISSION_DENIED]: 'Permission denied',
  [STATUS.BAD_MESSAGE]: 'Bad message',
};

/** Returns the answer to a request that has failed. Throws what is no failure of a request. */
export function refusalOf(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  const errno = errnoOf(error);
  if (errno === undefined) throw error;
  const status = STATUS_OF_ERRNO[errno] ?? STATUS.FAILURE;
  return new RequestError(status, TEXTS[status] ?? `Failure (${errno})`);
}
