import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OperationContext } from '../../../core/session/context.ts';
import { beginPhase } from '../../../core/session/progress.ts';
import { withRepository } from '../../../core/session/session.ts';
import { randomWords } from '../../../core/ldm/random-ids.ts';
import { RealmAccess } from '../../../realm/domains/realm-access.ts';
import { USERS } from '../load-test.ts';
import { runClients } from './clients.ts';
import type { ClientFigures, Sought } from './clients.ts';
import { Processes, processorMs } from './processes.ts';
import type { StartedProcess } from './processes.ts';
import { CLIENTS, RealmOfTest } from './realm-of-test.ts';
import type { ProgramCommands } from './realm-of-test.ts';
import { startRedis, startZooKeeper } from './servers.ts';
import type { LoadServer } from './servers.ts';
import { Ways } from './ways.ts';
import type { Way } from './ways.ts';
import { quantileOf } from '../queue.ts';

export interface RealLoadTestOptions {
  readonly seed: number;
  readonly commands: ProgramCommands;
  readonly domains: number;
  readonly idsPerDomain: number;
  /** Numbers of clients, one row for each. Default: those of the paper. */
  readonly clients?: readonly number[] | undefined;
  readonly lookUpsPerClient: number;
  /** `zookeeper`: on a server that is started for this. */
  readonly coordinator: 'directory' | 'zookeeper';
  /** Also starts Redis, and looks chunks up with it. */
  readonly cache: boolean;
}

/** One way to look chunks up, with one number of clients. Times in ms. */
export interface RealRow {
  readonly clients: number;
  readonly way: Way;
  readonly lookUps: number;
  readonly questionsPerLookUp: number;
  /** Look-ups that led to no answer, because an agent gave none before the deadline. */
  readonly unanswered: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly lookUpsPerSecond: number;
  /** Processor time for each look-up, of all agents together. Undefined: the system does not tell. */
  readonly agentMs: number | undefined;
  /** The same of this process, which has all clients. */
  readonly clientMs: number;
  /** The same of the servers: ZooKeeper and Redis. */
  readonly serverMs: number | undefined;
  /** Mean time of a look-up in turn, divided by that of this way. */
  readonly speedUp: number;
}

export interface RealLoadTestResult {
  /** That all processes of the test share. */
  readonly processors: number;
  readonly rows: readonly RealRow[];
}

/** So many chunks are looked for again and again; a cache of answers helps only with these. */
const PRESENT_POOL = 1000;
/** Look-ups that do not count: the agents compile their code meanwhile. */
const WARM_UP = { clients: 8, lookUpsEach: 25 };

/**
 * Measures what asking by filter saves between real processes: starts a coordinator, an agent for each domain and, if
 * wanted, a cache, all on this machine, and lets clients look for chunks. The seed determines the chunks and what is looked
 * for. Everything that was started is ended, and the temporary directory removed, also after an error or a signal.
 * @throws RefusedError if a server is not installed
 * @throws LdmError if a command of the program fails
 */
export async function runRealLoadTest(
  context: OperationContext,
  options: RealLoadTestOptions,
): Promise<RealLoadTestResult> {
  const directory = mkdtempSync(join(tmpdir(), 'ldm-load-test-'));
  const processes = new Processes(directory, homeIn(directory), context.signal);
  try {
    beginPhase(context.progress, 'starting agents');
    const servers: LoadServer[] = [];
    const start = async (starting: Promise<LoadServer>): Promise<string> => {
      const server = await starting;
      servers.push(server);
      return server.place;
    };
    const isDirectory = options.coordinator === 'directory';
    const coordinator = isDirectory
      ? newDirectory(directory, 'realm')
      : await start(startZooKeeper(processes, directory));
    const cache = options.cache ? await start(startRedis(processes, directory)) : undefined;
    const { commands, seed, idsPerDomain, domains: domainCount } = options;
    const given = { commands, directory, seed, idsPerDomain, domainCount, coordinator, cache };
    const realm = new RealmOfTest(processes, plainContext(context), given);
    await realm.create();
    return {
      processors: availableParallelism(),
      rows: await measure(options, { realm, servers }, context),
    };
  } finally {
    await processes.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

function newDirectory(parent: string, name: string): string {
  const directory = join(parent, name);
  mkdirSync(directory, { mode: 0o700 });
  return directory;
}

/** Variables with which programs use and change nothing of the user's settings, repositories and caches. */
function homeIn(directory: string): NodeJS.ProcessEnv {
  const home = newDirectory(directory, 'home');
  const places = ['CONFIG', 'CACHE', 'DATA', 'STATE'].map((name) => [`XDG_${name}_HOME`, join(home, name)]);
  return { HOME: home, XDG_RUNTIME_DIR: newDirectory(directory, 'run'), ...Object.fromEntries(places) };
}

/** The repositories of the test are not encrypted, and need not be remembered. */
function plainContext({ signal, progress, openPlace: open }: OperationContext): Omit<OperationContext, 'backend'> {
  return { signal, progress, openPlace: open, password: undefined };
}

interface Started {
  readonly realm: RealmOfTest;
  readonly servers: readonly LoadServer[];
}

async function measure(
  options: RealLoadTestOptions,
  { realm, servers }: Started,
  { progress, signal }: Pick<OperationContext, 'progress' | 'signal'>,
): Promise<RealRow[]> {
  const chunkIds = await realm.chunkIds();
  const own = await realm.contextOf(CLIENTS);
  return await withRepository(own, 'read', async (repository) => {
    const { domains, close } = await new RealmAccess(own, repository).connect();
    try {
      await domains.loadPlanes();
      const ways = new Ways(domains, await repository.openState(), realm.names);
      beginPhase(progress, 'looking chunks up');
      const meter = new Meter(ways, { agents: realm.agents, servers: servers.map((server) => server.process) });
      return await meter.rows(options, chunkIds, signal);
    } finally {
      await close();
    }
  });
}

interface Measured {
  readonly agents: readonly StartedProcess[];
  readonly servers: readonly StartedProcess[];
}

/** Measures rows of the table, one after the other. */
class Meter {
  readonly #ways: Ways;
  readonly #measured: Measured;

  constructor(ways: Ways, measured: Measured) {
    this.#ways = ways;
    this.#measured = measured;
  }

  async rows(
    { seed, clients = USERS, lookUpsPerClient: lookUpsEach, cache }: RealLoadTestOptions,
    chunkIds: readonly (readonly Uint8Array[])[],
    signal: AbortSignal | undefined,
  ): Promise<RealRow[]> {
    const ways: readonly Way[] = ['in-turn', 'by-filter', 'locate', ...(cache ? (['locate-cached'] as const) : [])];
    const present = presentPool(chunkIds, seed);
    // Of a seed of its own, so that the cache knows nothing of what counts.
    for (const way of ['in-turn', 'by-filter'] as const)
      await runClients(this.#ways, way, { present, seed: seed - 1 }, { ...WARM_UP, signal });
    const rows: RealRow[] = [];
    for (const count of clients) {
      let inTurnMs = 0;
      for (const way of ways) {
        const row = await this.#row(way, { present, seed: seed + count }, { clients: count, lookUpsEach, signal });
        if (way === 'in-turn') inTurnMs = row.meanMs;
        rows.push({ ...row, speedUp: inTurnMs / row.meanMs });
      }
    }
    return rows;
  }

  async #row(way: Way, sought: Sought, load: Parameters<typeof runClients>[3]): Promise<Omit<RealRow, 'speedUp'>> {
    const { agents, servers } = this.#measured;
    const before = { agents: processorMs(agents), servers: processorMs(servers), own: process.cpuUsage() };
    const figures = await runClients(this.#ways, way, sought, load);
    const own = process.cpuUsage(before.own);
    const since = (all: readonly StartedProcess[], earlier: number | undefined): number | undefined => {
      const now = processorMs(all);
      return now === undefined || earlier === undefined ? undefined : (now - earlier) / figures.lookUps;
    };
    return {
      clients: load.clients,
      way,
      ...perLookUp(figures),
      agentMs: since(agents, before.agents),
      clientMs: (own.user + own.system) / 1000 / figures.lookUps,
      serverMs: since(servers, before.servers),
    };
  }
}

function perLookUp({
  lookUps,
  questions,
  unanswered,
  timesMs,
  wallMs,
}: ClientFigures): Pick<
  RealRow,
  'lookUps' | 'questionsPerLookUp' | 'unanswered' | 'meanMs' | 'p50Ms' | 'p95Ms' | 'lookUpsPerSecond'
> {
  return {
    lookUps,
    questionsPerLookUp: questions / lookUps,
    unanswered,
    meanMs: timesMs.reduce((sum, ms) => sum + ms, 0) / lookUps,
    p50Ms: quantileOf(timesMs, 0.5),
    p95Ms: quantileOf(timesMs, 0.95),
    lookUpsPerSecond: (lookUps / wallMs) * 1000,
  };
}

/** Chunks of all domains, the same number of each if they have so many, and always the same for the seed. */
function presentPool(chunkIds: readonly (readonly Uint8Array[])[], seed: number): Uint8Array[] {
  const nextWord = randomWords(seed);
  return Array.from({ length: PRESENT_POOL }, (_, index) => {
    const ids = chunkIds[index % chunkIds.length]!;
    return ids[nextWord() % ids.length]!;
  });
}
