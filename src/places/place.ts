import { UsageError } from '../core/errors.ts';

/** A directory on an SFTP server. */
export interface SftpAddress {
  readonly user: string | undefined;
  readonly host: string;
  readonly port: number | undefined;
  /** Absolute, or below the home directory of the user. */
  readonly path: string;
}

const HOST = String.raw`(?:(?<user>[^@:/]+)@)?(?<host>\[[0-9A-Fa-f:.]+\]|[^@:/[\]]+)`;
/** `sftp://user@host:22/path`, where `/~/` begins a path below the home directory. */
const SFTP_URL = new RegExp(`^sftp://${HOST}(?::(?<port>\\d+))?/(?<path>.+)$`, 'is');
/** `sftp:user@host:22/path`, `sftp:user@host:path` as for scp, or `sftp:user@host/path`. */
const SFTP_PLACE = new RegExp(`^sftp:${HOST}(?::(?<port>\\d+)(?=/)|:(?!:)|(?=/))(?<path>.+)$`, 'is');
/** Where the path begins with it, the place has a password: `user:password@host:/path`. */
const PASSWORD = /^[^/]*@/;
const PORT_MAX = 65_535;

/** Whether a place is on an SFTP server: it begins with `sftp:`, or is `user@host:path` as for scp. */
export function isSftpPlace(place: string): boolean {
  return /^sftp:/i.test(place) || /^[^/:]+@[^/:]+:/.test(place);
}

/**
 * Reads the place of a repository on an SFTP server.
 * @throws UsageError, without the whole place, because it may contain a password
 */
export function parseSftpPlace(place: string): SftpAddress {
  const named = /^sftp:/i.test(place) ? place : `sftp:${place}`;
  const url = SFTP_URL.exec(named)?.groups;
  const found = url ?? (named.startsWith('sftp://') ? undefined : SFTP_PLACE.exec(named)?.groups);
  if (found === undefined) throw invalid('is not a place on an SFTP server');
  const { user, host = '', port: digits, path: rest = '' } = found;
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && (port === 0 || port > PORT_MAX)) throw invalid(`has the impossible port ${port}`);
  // To ssh, it would be an option.
  if (host.startsWith('-') || user?.startsWith('-') === true) throw invalid('has a name that begins with a hyphen');
  const isBelowHome = rest.startsWith('~/');
  const path = isBelowHome ? rest.replace(/^~\/+/, '') : url === undefined ? rest : `/${rest}`;
  // An SFTP server does not expand it: it would be the name of a directory.
  if (path.startsWith('~') || (!isBelowHome && rest.startsWith('~'))) {
    throw invalid('has a path that begins with ~, which is possible only as ~/');
  }
  const trimmed = path.length > 1 ? path.replace(/\/+$/, '') : path;
  if (trimmed === '' || trimmed.includes('\0')) throw invalid('has no path');
  if (PASSWORD.test(trimmed)) throw invalid('has a path with an @, or contains a password');
  return { user, host: host.replaceAll(/[[\]]/g, ''), port, path: trimmed };
}

/** Returns the shortest text that means this place. */
export function formatSftpPlace({ user, host, port, path }: SftpAddress): string {
  const login = user === undefined ? '' : `${user}@`;
  const name = host.includes(':') ? `[${host}]` : host;
  if (port === undefined) return `sftp:${login}${name}:${path}`;
  return path.startsWith('/') ? `sftp:${login}${name}:${port}${path}` : `sftp://${login}${name}:${port}/~/${path}`;
}

function invalid(what: string): UsageError {
  return new UsageError(`the repository ${what}`, {
    hint: 'Write sftp:user@host:/path, or sftp:user@host:port/path.',
  });
}
