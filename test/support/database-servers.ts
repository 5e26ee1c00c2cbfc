import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { startDaemon } from './daemon.ts';
import { onFreePort } from './free-port.ts';
import { memoryDirectory } from './temp-directory.ts';
import { missingTools } from './tools.ts';
import { NOBODY, giveToNobody, isRoot } from './unprivileged.ts';

/** Where Debian has the programs of each version. */
const POSTGRESQL = '/usr/lib/postgresql';

const versions = existsSync(POSTGRESQL) ? readdirSync(POSTGRESQL).toSorted((a, b) => Number(a) - Number(b)) : [];
const programs = join(POSTGRESQL, versions.at(-1) ?? 'none', 'bin');

/** Why there is no server for the test; an empty text if there is one. */
export function postgresqlProblem(): string {
  return missingTools(...['postgres', 'initdb', 'pg_dump', 'psql'].map((name) => join(programs, name)));
}

export function mariadbProblem(): string {
  return missingTools('mariadbd', 'mariadb-install-db', 'mariadb-admin', 'mariadb-dump');
}

/** Starts a PostgreSQL server on loopback, which the test ends. Returns the variables with which its clients find it. */
export async function startPostgresql(): Promise<Record<string, string>> {
  const directory = memoryDirectory();
  giveToNobody(directory);
  // It refuses to run as root.
  const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  const data = join(directory, 'data');
  const made = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C', '--no-sync', '-D', data];
  run(join(programs, 'initdb'), made, user);
  const settings = ['listen_addresses=127.0.0.1', `unix_socket_directories=${directory}`, 'fsync=off'];
  const port = await onFreePort(async (free) => {
    const args = ['-D', data, '-p', String(free), ...settings.flatMap((setting) => ['-c', setting])];
    const ready = 'ready to accept connections';
    // At once, without waiting for its clients.
    await startDaemon([join(programs, 'postgres'), ...args], { ready, signal: 'SIGQUIT', ...user });
    return free;
  });
  const path = `${programs}:${process.env['PATH']}`;
  return { PGHOST: '127.0.0.1', PGPORT: String(port), PGUSER: 'postgres', PATH: path };
}

/** Starts a MariaDB server, which the test ends. Returns the lines with which the file `.my.cnf` of a client finds it. */
export async function startMariadb(): Promise<string> {
  const directory = memoryDirectory();
  const user = isRoot ? ['--user=root'] : [];
  const data = [`--datadir=${directory}/data`, ...user];
  const made = ['--no-defaults', '--auth-root-authentication-method=normal', '--skip-test-db', ...data];
  run('mariadb-install-db', made);
  const socket = join(directory, 'socket');
  const place = [`--socket=${socket}`, `--pid-file=${directory}/pid`, '--skip-networking'];
  const sizes = ['--innodb-flush-log-at-trx-commit=0', '--innodb-log-file-size=8M', '--innodb-buffer-pool-size=16M'];
  await startDaemon(['mariadbd', '--no-defaults', ...data, ...place, ...sizes], {
    ready: 'ready for connections',
    signal: 'SIGKILL',
  });
  return `[client]\nsocket = ${socket}\nuser = root\n`;
}

function run(program: string, args: readonly string[], options: { uid?: number; gid?: number } = {}): void {
  const { status, stderr, error } = spawnSync(program, args, { ...options, cwd: '/', encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program}: ${error?.message ?? stderr}`);
}
