import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import { createRealm } from '../../src/realm/verbs/realm/create.ts';
import { joinRealm } from '../../src/realm/verbs/realm/join.ts';
import type { JoinOptions } from '../../src/realm/verbs/realm/join.ts';
import { createPrng } from './prng.ts';
import { SMALL_CAPACITY, realmFile } from './realm.ts';
import { runLdmHere } from './run-ldm-here.ts';
import { cleanEnvironment, ldmProgram, runLdm } from './run-ldm.ts';
import type { RunLdmResult } from './run-ldm.ts';
import { waitUntil } from './wait-until.ts';

type Membership = Pick<JoinOptions, 'coordinator' | 'cache'>;

/** Shows what is wrong before the test is ended. */
const GUARD_MS = 250_000;
const PAUSE_MS = 50;

/** What `realm status` says of one domain. */
export interface StatusLine {
  readonly name: string;
  readonly reached_by?: string;
  readonly current: boolean;
  readonly sequence?: number;
  readonly unpublished?: number;
  readonly held_sequence?: number;
  readonly behind?: number;
}

/** Repositories of one realm below a directory. Their agents are processes of the built program. */
export class RealmScene {
  readonly directory: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #agents: ChildProcess[] = [];

  constructor(directory: string, env: Readonly<Record<string, string>> = {}) {
    this.directory = directory;
    this.#env = { XDG_RUNTIME_DIR: join(directory, 'run'), ...env };
    mkdirSync(join(directory, 'run'), { mode: 0o700 });
  }

  /** In this process. */
  async run(args: readonly string[]): Promise<RunLdmResult> {
    return await runLdmHere(args, { cwd: this.directory, env: this.#env });
  }

  /** Fails unless the command ends with one of these exit codes. */
  async ok(args: readonly string[], codes: readonly number[] = [0]): Promise<RunLdmResult> {
    return assertCode(args, codes, await this.run(args));
  }

  /** The same by the built program: several of these run at the same time. */
  async okBuilt(args: readonly string[]): Promise<RunLdmResult> {
    return assertCode(args, [0], await runLdm(args, { cwd: this.directory, env: this.#env }));
  }

  async create(names: readonly string[], membership: Membership): Promise<void> {
    await createRealm({ file: realmFile(this.directory), isEncrypted: false });
    for (const name of names) await this.add(name, membership);
  }

  async add(name: string, membership: Membership): Promise<void> {
    const context = { backend: new LocalBackend(join(this.directory, name)) };
    const realm = { file: realmFile(this.directory) };
    await initRepository(context, { capacity: SMALL_CAPACITY, encryption: 'never', realm });
    await joinRealm(context, { name, ...membership });
  }

  /** A new file of random bytes. Returns its name. */
  file(name: string, seed: number, sizeBytes = 50_000): string {
    writeFileSync(join(this.directory, name), createPrng(seed).bytes(sizeBytes));
    return name;
  }

  /** By the name of the domain. */
  async status(from: string): Promise<ReadonlyMap<string, StatusLine>> {
    const { stdout } = await this.ok(['-r', from, 'realm', 'status', '--json']);
    const lines = stdout.trim().split('\n');
    const domains = lines.map((line) => JSON.parse(line) as StatusLine & { readonly message_type: string });
    return new Map(domains.filter((line) => line.message_type === 'domain').map((line) => [line.name, line]));
  }

  /** Asks for the status again and again until it is as expected. */
  async until(from: string, isExpected: (domains: ReadonlyMap<string, StatusLine>) => boolean): Promise<void> {
    const deadline = performance.now() + GUARD_MS;
    for (;;) {
      const domains = await this.status(from);
      if (isExpected(domains)) return;
      if (performance.now() > deadline) throw new Error(`still: ${JSON.stringify([...domains.values()])}`);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  /** Starts an agent, and returns when it answers. */
  async startAgent(name: string): Promise<ChildProcess> {
    const agent = spawn(process.execPath, [ldmProgram, '-r', name, 'agent', '--json'], {
      cwd: this.directory,
      env: cleanEnvironment(this.#env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#agents.push(agent);
    let said = '';
    agent.stdout.on('data', (bytes: Buffer) => (said += bytes.toString()));
    agent.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()));
    await waitUntil(() => said.includes('"listening"') || agent.exitCode !== null, 'the start of the agent');
    if (agent.exitCode !== null) throw new Error(`the agent has ended: ${said}`);
    return agent;
  }

  /** Ends an agent by a signal, and returns how it ended. */
  async end(agent: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
    const ended = once(agent, 'exit');
    agent.kill(signal);
    const [code] = (await ended) as [number | null];
    return code;
  }

  async close(): Promise<void> {
    for (const agent of this.#agents)
      if (agent.exitCode === null && agent.signalCode === null) await this.end(agent, 'SIGKILL');
  }
}

function assertCode(args: readonly string[], codes: readonly number[], result: RunLdmResult): RunLdmResult {
  if (result.code !== null && codes.includes(result.code)) return result;
  throw new Error(`${args.join(' ')} ended with ${result.code}: ${result.stdout}${result.stderr}`);
}
