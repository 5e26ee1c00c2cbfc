import { UsageError } from '../../core/errors.ts';

/** What rclone calls a remote, with or without options, and a path in it. */
export interface RcloneAddress {
  /** `name`, `name,option=value`, or `:backend,option=value` for a remote that is not configured. */
  readonly remote: string;
  /** Empty for the root of the remote. */
  readonly path: string;
}

const OPTION = String.raw`,[^=,:]+(?:=(?:"[^"]*"|'[^']*'|[^,:]*))?`;
/** https://rclone.org/docs/#connection-strings */
const PLACE = new RegExp(`^rclone:(?<remote>:?[^:,/]+(?:${OPTION})*):(?<path>.*)$`, 'is');
/** The path of a file with a key is no secret. */
const SECRET_OPTION = /,[^=,]*(?:pass|secret|token|key|sas_url|credentials)[^=,]*(?<!_file)=|:\/\/[^/@"]*:[^/@"]*@/i;

export function isRclonePlace(place: string): boolean {
  return /^rclone:/i.test(place);
}

/**
 * Reads `rclone:remote:path`.
 * @throws UsageError, without the whole place, because it may contain a password
 */
export function parseRclonePlace(place: string): RcloneAddress {
  const { remote = '', path = '' } = PLACE.exec(place)?.groups ?? {};
  if (remote === '' || path.includes('\0')) throw invalid('is not a remote of rclone and a path in it');
  if (SECRET_OPTION.test(remote)) {
    throw new UsageError('the repository contains a password or a key', {
      hint: 'Save it with `rclone config`, and name that remote: messages show the place of a repository.',
    });
  }
  return { remote, path: path.length > 1 ? path.replace(/(?<=.)\/+$/, '') : path };
}

/** Returns the shortest text that means this place. */
export function formatRclonePlace(address: RcloneAddress): string {
  return `rclone:${formatRemote(address)}`;
}

/** Returns the place as rclone takes it. */
export function formatRemote({ remote, path }: RcloneAddress): string {
  return `${remote}:${path}`;
}

function invalid(what: string): UsageError {
  return new UsageError(`the repository ${what}`, {
    hint: 'Write rclone:remote:path, with a remote that `rclone listremotes` shows.',
  });
}
