import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

import { freePort } from '../../support/free-port.ts';
import type { Prng } from '../../support/prng.ts';
import { ldmProgram } from '../../support/run-ldm.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { FaultFiles } from './fault-files.ts';
import { isLockOf } from './place.ts';
import type { FaultKind, FaultPlan, ServerEvent, StormPlace } from './place.ts';
import { SmallDisk, filesBelow } from './small-disk.ts';

const FILTER = join(import.meta.dirname, 'sftp-fault-filter.mjs');
const DAEMON = '/usr/sbin/sshd';
/** The names of the keys, by which the server chooses what serves a connection. */
const SERVERS = ['sftp-server', 'ldm-serve'] as const;

/** OpenSSH with its own server of SFTP and with `ldm serve`, both for the same directory on a small disk. */
export class SftpStormPlace implements StormPlace {
  readonly name = 'SFTP';
  readonly initOptions: readonly string[] = [];
  readonly isShared = true;
  readonly leavesParts = false;
  readonly kinds: Readonly<Record<string, FaultKind>> = {
    reset: { timesMax: 3 },
    'lost answer': { timesMax: 3 },
    'half answer': { timesMax: 3 },
    'damaged answer': { timesMax: 3 },
    failure: {},
    stall: { ms: 3000 },
    'stall of a minute': { ms: 62_000, countMax: 3 },
    'silence of the server': { ms: 125_000, countMax: 2 },
    'client killed': {},
    'client suspended': { ms: 1000 },
    'client suspended for long': { ms: 130_000, countMax: 2 },
  };
  readonly events: Record<string, ServerEvent> = {
    'server killed': { run: async (isOver) => await this.#killServer(isOver) },
    'sessions killed': { run: async () => this.#killSessions() },
    'keys refused': { run: async (isOver) => await this.#refuseKeys(isOver), symptom: /Permission denied/ },
  };
  readonly #directory: string;
  readonly #port: number;
  readonly #faults: FaultFiles;
  readonly #servers: readonly (typeof SERVERS)[number][];
  #daemon: ChildProcess | undefined;

  private constructor(directory: string, port: number, servers: readonly (typeof SERVERS)[number][]) {
    this.#directory = directory;
    this.#servers = servers;
    this.#port = port;
    this.#faults = new FaultFiles(directory);
  }

  /** @param servers - what serves the connections */
  static async start(servers: readonly (typeof SERVERS)[number][] = SERVERS): Promise<SftpStormPlace> {
    const place = new SftpStormPlace(memoryDirectory(), await freePort(), servers);
    place.#setUp();
    await place.#startServer();
    onTestFinished(async () => await place.#stopServer());
    return place;
  }

  /** The place of a directory beside the repository, for those whom `sftp-server` serves. */
  placeBeside(name: string): string {
    return `sftp:127.0.0.1:${this.#port}${join(this.#directory, 'disk/served', name)}`;
  }

  get #repository(): string {
    return join(this.#directory, 'disk/served/repository');
  }

  connect(client: number, plan: FaultPlan | undefined, prng: Prng): Readonly<Record<string, string>> {
    const directory = this.#faults.begin(client, plan);
    const server = prng.pick(this.#servers);
    const path = server === 'ldm-serve' ? '/repository' : this.#repository;
    const ssh = `ssh -F ${join(this.#directory, 'ssh_config')} -i ${join(this.#directory, server)}`;
    return {
      LDM_REPOSITORY: `sftp:127.0.0.1:${this.#port}${path}`,
      LDM_SSH_COMMAND: `${process.execPath} ${FILTER} ${directory} ${ssh}`,
    };
  }

  started(): void {}

  firedCount(client: number): number {
    return this.#faults.firedCount(client);
  }

  isSuspended(client: number): boolean {
    return this.firedCount(client) > 0;
  }

  async removeLocksOf(pid: number): Promise<number> {
    const directory = join(this.#repository, 'locks');
    const names = readdirSync(directory).filter((name) => isLockOf(name, pid));
    for (const name of names) rmSync(join(directory, name), { force: true });
    return names.length;
  }

  async files(): Promise<ReadonlyMap<string, number>> {
    return filesBelow(this.#repository);
  }

  #setUp(): void {
    const directory = this.#directory;
    this.events['disk full'] = new SmallDisk(join(directory, 'disk')).isFull;
    mkdirSync(join(directory, 'disk/served'));
    mkdirSync('/run/sshd', { recursive: true });
    for (const name of ['host', ...SERVERS])
      spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, name)]);
    const serve = `'${process.execPath}' '${ldmProgram}' serve --stdio '${directory}/disk/served'`;
    const keyOf = (server: string): string => readFileSync(join(directory, `${server}.pub`), 'utf8');
    writeFileSync(
      join(directory, 'authorized_keys'),
      `${keyOf('sftp-server')}command="${serve}",restrict ${keyOf('ldm-serve')}`,
    );
    const settings = ['PidFile none', 'UsePAM no', 'StrictModes no', 'PasswordAuthentication no'];
    // Without SHLVL, bash runs the user's .bashrc, which may do anything.
    const more = [
      'SetEnv SHLVL=2',
      'PermitRootLogin yes',
      'MaxStartups 100',
      'Subsystem sftp /usr/lib/openssh/sftp-server',
    ];
    const own = [`Port ${this.#port}`, 'ListenAddress 127.0.0.1', `HostKey ${directory}/host`];
    const keys = `AuthorizedKeysFile ${directory}/authorized_keys`;
    writeFileSync(join(directory, 'sshd_config'), [...own, keys, ...settings, ...more, ''].join('\n'));
    const known = [`UserKnownHostsFile ${directory}/known`, 'StrictHostKeyChecking accept-new', 'LogLevel ERROR'];
    writeFileSync(join(directory, 'ssh_config'), ['User root', 'IdentitiesOnly yes', ...known, ''].join('\n'));
  }

  async #startServer(): Promise<void> {
    let messages = '';
    const child = spawn(DAEMON, ['-D', '-e', '-f', join(this.#directory, 'sshd_config')], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr.on('data', (bytes: Buffer) => (messages += bytes.toString()));
    this.#daemon = child;
    await waitUntil(() => messages.includes('Server listening') || child.exitCode !== null, 'the start of sshd');
    if (child.exitCode !== null) throw new Error(`sshd: ${messages}`);
  }

  async #stopServer(): Promise<void> {
    const daemon = this.#daemon!;
    const ended = once(daemon, 'exit');
    daemon.kill('SIGKILL');
    await ended;
  }

  /** Ends the daemon, and with it all connections. */
  async #killServer(isOver: Promise<unknown>): Promise<number> {
    const pid = this.#daemon!.pid!;
    const sessions = descendantsOf(pid);
    await this.#stopServer();
    for (const session of sessions) killIfThere(session);
    await isOver;
    await this.#startServer();
    return sessions.length;
  }

  #killSessions(): Promise<number> {
    const sessions = descendantsOf(this.#daemon!.pid!);
    for (const session of sessions) killIfThere(session);
    return Promise.resolve(sessions.length);
  }

  async #refuseKeys(isOver: Promise<unknown>): Promise<undefined> {
    const keys = join(this.#directory, 'authorized_keys');
    renameSync(keys, `${keys}.away`);
    await this.#killSessions();
    await isOver;
    renameSync(`${keys}.away`, keys);
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** The ids of the processes that a process has started, and that these have started. */
function descendantsOf(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  const children = stdout.trim().split(/\s+/).filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}
