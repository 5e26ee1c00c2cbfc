import type { Backend, Traffic } from '../../core/backend/backend.ts';
import type { RemoteOptions } from '../../places/open-backend.ts';
import type { TransferLimits } from '../../places/remote/rate-limiter.ts';
import { openBackend } from '../../places/open-backend.ts';
import type { Settings } from './settings.ts';
import { BucketRetention } from '../bucket-retention.ts';
import { interruptionSignal } from '../signals.ts';

const GROUP_RETRY_MS = 60_000;

/** Opens the places of repositories and groups with the settings of a command, and counts what is asked of them. */
export class Places {
  /** Of what this command, and others, have written to buckets. */
  readonly retention: BucketRetention;
  readonly #settings: Settings;
  readonly #warn: (message: string) => void;
  readonly #repositories: Backend[] = [];
  /** The operation that opens a group also closes it. */
  readonly #groups: Backend[] = [];
  /** All transfers take turns. */
  #limits: TransferLimits | undefined;

  constructor(settings: Settings, warn: (message: string) => void) {
    this.#settings = settings;
    this.retention = new BucketRetention(settings, async (place) => this.#remoteOptions(place));
    this.#warn = warn;
  }

  async open(place: string): Promise<Backend> {
    const { s3AsOf, repository } = this.#settings;
    const isPast = s3AsOf !== undefined && place === repository;
    // The cache has what the repository has now.
    const more = isPast ? { s3AsOf } : { cache: this.#cache };
    const opened = await openBackend(place, { ...(await this.#remoteOptions(place)), ...more });
    this.#repositories.push(opened);
    return opened;
  }

  /** A group that cannot be reached is offline, and the command goes on without it. It has nothing for the cache. */
  async openGroup(place: string): Promise<Backend> {
    const options = await this.#remoteOptions(place);
    const retryForMs = Math.min(options.retryForMs ?? GROUP_RETRY_MS, GROUP_RETRY_MS);
    const opened = await openBackend(place, { ...options, retryForMs, s3AsOf: this.#settings.s3AsOf });
    this.#groups.push(opened);
    this.retention.addGroup(place);
    return opened;
  }

  /** What was asked of all repositories and groups on other machines, as fields of a summary; none if there is none. */
  get trafficFields(): Readonly<Record<string, number>> {
    const all = [...this.#repositories, ...this.#groups].flatMap(({ traffic }) => traffic ?? []);
    if (all.length === 0) return {};
    const total = (count: (traffic: Traffic) => number): number => all.reduce((sum, each) => sum + count(each), 0);
    return {
      requests: total(({ requests }) => requests),
      bytes_uploaded: total(({ uploadedBytes }) => uploadedBytes),
      bytes_downloaded: total(({ downloadedBytes }) => downloadedBytes),
    };
  }

  /** Closes the repositories. */
  async close(): Promise<void> {
    for (const each of this.#repositories) await each.close();
  }

  async #remoteOptions(place: string): Promise<RemoteOptions> {
    const { sshCommand, rcloneCommand, retryForMs, connections } = this.#settings;
    const s3Writes = { ...this.#settings.s3Writes, onRetained: () => this.retention.add(place) };
    const { uploadLimit, downloadLimit } = this.#settings;
    const signal = interruptionSignal;
    if (uploadLimit !== undefined || downloadLimit !== undefined) {
      const { transferLimits } = await import('../../places/remote/rate-limiter.ts');
      this.#limits ??= transferLimits({ uploadLimit, downloadLimit, signal });
    }
    const onTrouble = (reason: string): void => this.#warn(`repository ${place}: repeated after: ${reason}`);
    return { sshCommand, rcloneCommand, s3Writes, retryForMs, connections, limits: this.#limits, signal, onTrouble };
  }

  get #cache(): RemoteOptions['cache'] {
    const { cacheDirectory: directory } = this.#settings;
    if (directory === undefined) return undefined;
    return { directory, onTrouble: (reason) => this.#warn(`the cache in ${directory} is not used: ${reason}`) };
  }
}
