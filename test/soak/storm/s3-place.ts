import { BUCKET, CEPH_KEYS, s3Client } from '../../support/ceph-server.ts';
import type { CephServer } from '../../support/ceph-server.ts';
import { S3Store } from '../../../src/places/s3/s3-store.ts';
import { HttpFaultProxy } from './http-fault-proxy.ts';
import { isLockOf } from './place.ts';
import type { FaultKind, FaultPlan, ServerEvent, StormPlace } from './place.ts';

const CLIENT_COUNT = 3;

/** A bucket of a Ceph, with a proxy before each client. */
export class S3StormPlace implements StormPlace {
  readonly name = 'S3';
  readonly initOptions: readonly string[] = [];
  readonly isShared = true;
  readonly leavesParts = false;
  readonly kinds: Readonly<Record<string, FaultKind>> = {
    reset: { timesMax: 3 },
    'lost answer': { timesMax: 3 },
    'half answer': { timesMax: 3 },
    'short answer': { timesMax: 2 },
    'damaged answer': { timesMax: 2 },
    'error 500': { timesMax: 4 },
    'error 503': { timesMax: 4 },
    'error 429': { timesMax: 4 },
    'expired keys': {},
    'quota used up': {},
    stall: { ms: 3000 },
    'stall of a minute': { ms: 65_000, countMax: 4 },
    'client killed': {},
    'client suspended': { ms: 1000 },
    'client suspended for long': { ms: 70_000, countMax: 2 },
  };
  readonly events: Readonly<Record<string, ServerEvent>> = {
    'gateway killed': { run: async (isOver) => await this.#killGateway(isOver) },
  };
  readonly #server: CephServer;
  readonly #prefix: string;
  readonly #proxies: readonly HttpFaultProxy[];
  readonly #store: S3Store;

  private constructor(server: CephServer, prefix: string, proxies: readonly HttpFaultProxy[]) {
    this.#server = server;
    this.#prefix = prefix;
    this.#proxies = proxies;
    this.#store = new S3Store(s3Client(server.endpoint), prefix);
  }

  static async start(server: CephServer, prefix: string): Promise<S3StormPlace> {
    const proxies: HttpFaultProxy[] = [];
    for (let count = 0; count < CLIENT_COUNT; count += 1) proxies.push(await HttpFaultProxy.start(server.endpoint));
    return new S3StormPlace(server, prefix, proxies);
  }

  connect(client: number, plan: FaultPlan | undefined): Readonly<Record<string, string>> {
    const proxy = this.#proxies[client]!;
    proxy.begin(plan);
    return { ...CEPH_KEYS, LDM_REPOSITORY: `s3:${proxy.endpoint}/${BUCKET}/${this.#prefix}` };
  }

  started(client: number, pid: number): void {
    this.#proxies[client]!.pid = pid;
  }

  firedCount(client: number): number {
    return this.#proxies[client]!.firedCount;
  }

  isSuspended(client: number): boolean {
    return this.firedCount(client) > 0;
  }

  async removeLocksOf(pid: number): Promise<number> {
    const locks = await this.#store.list('locks/');
    const own = locks.filter(({ key }) => isLockOf(key.slice('locks/'.length), pid));
    for (const { key } of own) await this.#store.remove(key);
    return own.length;
  }

  async files(): Promise<ReadonlyMap<string, number>> {
    return new Map((await this.#store.list('')).map(({ key, sizeBytes }) => [key, sizeBytes]));
  }

  async #killGateway(isOver: Promise<unknown>): Promise<number> {
    await this.#server.kill();
    await isOver;
    await this.#server.restart();
    return 1;
  }
}
