import { BUCKET, CEPH_KEYS } from '../../support/ceph-server.ts';
import type { CephServer } from '../../support/ceph-server.ts';
import type { Prng } from '../../support/prng.ts';
import { HttpFaultProxy } from './http-fault-proxy.ts';
import type { FaultKind, FaultPlan, ServerEvent, StormPlace } from './place.ts';
import { SftpStormPlace } from './sftp-place.ts';

const ALWAYS = { at: 1, times: Infinity, ms: 0, isPassed: true };

/** A repository on an SFTP server with two copies of each pack, in groups there and in a bucket. */
export class GroupStormPlace implements StormPlace {
  readonly name = 'groups over SFTP and S3';
  readonly initOptions: readonly string[];
  readonly isShared = true;
  readonly leavesParts = false;
  readonly kinds: Readonly<Record<string, FaultKind>>;
  readonly events: Readonly<Record<string, ServerEvent>>;
  readonly #sftp: SftpStormPlace;
  readonly #proxy: HttpFaultProxy;

  private constructor(sftp: SftpStormPlace, proxy: HttpFaultProxy, prefix: string) {
    this.#sftp = sftp;
    this.#proxy = proxy;
    const groups = [`near=${sftp.placeBeside('near')}`, `cloud=s3:${proxy.endpoint}/${BUCKET}/${prefix}`];
    this.initOptions = [...groups.flatMap((group) => ['--group', group]), '--copies', '2'];
    this.kinds = sftp.kinds;
    this.events = {
      'bucket away': this.#disturb({ ...ALWAYS, kind: 'reset' }),
      'bucket busy': this.#disturb({ ...ALWAYS, kind: 'error 503', times: 4 }),
      'bucket loses answers': this.#disturb({ ...ALWAYS, kind: 'lost answer', times: 4 }),
      'bucket full': this.#disturb({ ...ALWAYS, kind: 'quota used up' }),
      ...sftp.events,
    };
  }

  static async start(server: CephServer, prefix: string): Promise<GroupStormPlace> {
    const sftp = await SftpStormPlace.start(['sftp-server']);
    return new GroupStormPlace(sftp, await HttpFaultProxy.start(server.endpoint), prefix);
  }

  connect(client: number, plan: FaultPlan | undefined, prng: Prng): Readonly<Record<string, string>> {
    return { ...CEPH_KEYS, ...this.#sftp.connect(client, plan, prng) };
  }

  started(): void {}

  firedCount(client: number): number {
    return this.#sftp.firedCount(client);
  }

  isSuspended(client: number): boolean {
    return this.#sftp.isSuspended(client);
  }

  async removeLocksOf(pid: number): Promise<number> {
    return await this.#sftp.removeLocksOf(pid);
  }

  async files(): Promise<ReadonlyMap<string, number>> {
    return await this.#sftp.files();
  }

  #disturb(plan: FaultPlan): ServerEvent {
    return {
      run: async (isOver) => {
        this.#proxy.begin(plan);
        await isOver;
        const count = this.#proxy.firedCount;
        this.#proxy.begin(undefined);
        return count;
      },
    };
  }
}
