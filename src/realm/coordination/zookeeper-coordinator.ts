import type { Client, Stat } from 'node-zookeeper-client';
import { CoordinatorError } from './realm-errors.ts';
import type { Coordinator, RecordKind, VersionedRecord } from './coordinator.ts';
import { ZooKeeperSession } from './zookeeper-session.ts';
import type { ZooKeeperPackage } from './zookeeper-session.ts';

interface ZooKeeperOptions {
  /** `host:port`, separated by commas. */
  readonly servers: string;
  /** An absolute path that exists or is created. The records are below it. */
  readonly root: string;
  readonly sessionTimeoutMs?: number | undefined;
  readonly deadlineMs?: number | undefined;
}

const KINDS: readonly RecordKind[] = ['members', 'live', 'state'];
const SESSION_TIMEOUT_MS = 10_000;
const DEADLINE_MS = 5000;

interface Announcement {
  readonly domainId: string;
  readonly bytes: Buffer;
}

/**
 * A coordinator on ZooKeeper servers: `<root>/members/<domain>`, `<root>/live/<domain>` (ephemeral) and
 * `<root>/state/<domain>`. The version of a record is that of its znode.
 */
export class ZooKeeperCoordinator implements Coordinator {
  readonly location: string;
  readonly #package: ZooKeeperPackage;
  readonly #session: ZooKeeperSession;
  readonly #root: string;
  readonly #watchers = new Set<() => void>();
  #announced: Announcement | undefined;
  #hasDirectories = false;
  #refreshing: Promise<void> | undefined;
  #isStale = false;

  constructor(loaded: ZooKeeperPackage, options: ZooKeeperOptions) {
    const { servers, root, sessionTimeoutMs = SESSION_TIMEOUT_MS, deadlineMs = DEADLINE_MS } = options;
    this.#package = loaded;
    this.#root = root;
    this.location = `zookeeper://${servers}${root}`;
    const onReconnect = (): void => this.#refresh();
    this.#session = new ZooKeeperSession(loaded, servers, { sessionTimeoutMs, deadlineMs, onReconnect });
  }

  async list(kind: RecordKind): Promise<string[]> {
    const path = this.#directory(kind);
    const answer = await this.#session.call<string[]>(
      (client, callback) => client.getChildren(path, callback),
      ['NO_NODE'],
    );
    return 'refused' in answer ? [] : answer.result.toSorted();
  }

  async read(kind: RecordKind, domainId: string): Promise<VersionedRecord | undefined> {
    const path = this.#path(kind, domainId);
    const answer = await this.#session.call<Buffer | undefined>(
      (client, callback) => client.getData(path, callback),
      ['NO_NODE'],
    );
    if ('refused' in answer) return undefined;
    return { bytes: answer.result ?? Buffer.alloc(0), version: answer.stat.version };
  }

  async write(
    kind: RecordKind,
    domainId: string,
    bytes: Uint8Array,
    version: number | undefined,
  ): Promise<number | undefined> {
    await this.#makeDirectories();
    const path = this.#path(kind, domainId);
    if (version === undefined) {
      return (await this.#create(path, Buffer.from(bytes), this.#package.CreateMode.PERSISTENT)) ? 0 : undefined;
    }
    const answer = await this.#session.call<Stat>(
      (client, callback) => client.setData(path, Buffer.from(bytes), version, callback),
      ['BAD_VERSION', 'NO_NODE'],
    );
    return 'refused' in answer ? undefined : answer.result.version;
  }

  async remove(kind: RecordKind, domainId: string): Promise<void> {
    const path = this.#path(kind, domainId);
    await this.#session.call<void>((client, callback) => client.remove(path, callback), ['NO_NODE']);
  }

  async announce(domainId: string, bytes: Uint8Array): Promise<void> {
    await this.#makeDirectories();
    this.#announced = { domainId, bytes: Buffer.from(bytes) };
    const path = this.#path('live', domainId);
    // An earlier agent may not have ended, or its session not have expired yet.
    while (!(await this.#create(path, this.#announced.bytes, this.#package.CreateMode.EPHEMERAL))) {
      await this.remove('live', domainId);
    }
    this.#session.keepAlive();
  }

  async watch(onChange: () => void): Promise<() => void> {
    await this.#makeDirectories();
    this.#watchers.add(onChange);
    try {
      await this.#arm();
    } catch (error) {
      // The caller has nothing with which to end it.
      this.#watchers.delete(onChange);
      throw error;
    }
    this.#session.keepAlive();
    return () => this.#watchers.delete(onChange);
  }

  async close(): Promise<void> {
    this.#watchers.clear();
    const announced = this.#announced;
    this.#announced = undefined;
    if (announced !== undefined) await this.#withdraw(announced).catch(ignoreCoordinator);
    await this.#refreshing;
    this.#session.close();
  }

  /** Only a record of this client: another agent may have taken over. */
  async #withdraw({ domainId, bytes }: Announcement): Promise<void> {
    const record = await this.read('live', domainId);
    if (record !== undefined && Buffer.compare(record.bytes, bytes) === 0) await this.remove('live', domainId);
  }

  readonly #onEvent = (): void => this.#refresh();

  /**
   * Something may have changed: watches are set again first, so that nothing is missed, and then all watchers are
   * notified.
   */
  #refresh(): void {
    this.#isStale = true;
    this.#refreshing ??= this.#refreshAll().finally(() => (this.#refreshing = undefined));
  }

  async #refreshAll(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      try {
        await this.#announceAgain();
        await this.#arm();
      } catch (error) {
        // The next connection begins here again.
        ignoreCoordinator(error);
      }
      for (const onChange of this.#watchers) onChange();
    }
  }

  /** After a new session, which has none of the ephemeral znodes of the last one. */
  async #announceAgain(): Promise<void> {
    const announced = this.#announced;
    if (announced === undefined) return;
    const { domainId, bytes } = announced;
    const path = this.#path('live', domainId);
    const { EPHEMERAL } = this.#package.CreateMode;
    const isTaken = !(await this.#create(path, bytes, EPHEMERAL));
    // It may be of the last session, which is about to end, or of this one; or of another agent that has taken over.
    if (!isTaken || !(await this.#isOfEarlierSession(announced))) return;
    await this.remove('live', domainId);
    await this.#create(path, bytes, EPHEMERAL);
  }

  async #isOfEarlierSession({ domainId, bytes }: Announcement): Promise<boolean> {
    const path = this.#path('live', domainId);
    let sessionId = '';
    const answer = await this.#session.call<Buffer>(
      (client, callback) => {
        sessionId = client.getSessionId().toString('hex');
        client.getData(path, callback);
      },
      ['NO_NODE'],
    );
    if ('refused' in answer) return true;
    return Buffer.compare(answer.result, bytes) === 0 && answer.stat.ephemeralOwner.toString('hex') !== sessionId;
  }

  /** Watches the names of each kind and the data of each record. The package keeps one watch per path. */
  async #arm(): Promise<void> {
    if (this.#watchers.size === 0) return;
    for (const kind of KINDS) {
      const directory = this.#directory(kind);
      const answer = await this.#session.call<string[]>((client: Client, callback) =>
        client.getChildren(directory, this.#onEvent, callback),
      );
      for (const domainId of 'refused' in answer ? [] : answer.result) {
        const path = this.#path(kind, domainId);
        await this.#session.call<Stat | null>((client, callback) => client.exists(path, this.#onEvent, callback));
      }
    }
  }

  /** Returns false if there is a znode of this path. */
  async #create(path: string, bytes: Buffer, mode: number): Promise<boolean> {
    const answer = await this.#session.call<string>(
      (client, callback) => client.create(path, bytes, mode, callback),
      ['NODE_EXISTS'],
    );
    return !('refused' in answer);
  }

  async #makeDirectories(): Promise<void> {
    if (this.#hasDirectories) return;
    for (const kind of KINDS) {
      await this.#session.call<string>((client, callback) => client.mkdirp(this.#directory(kind), callback));
    }
    this.#hasDirectories = true;
  }

  #directory(kind: RecordKind): string {
    return `${this.#root}/${kind}`;
  }

  #path(kind: RecordKind, domainId: string): string {
    return `${this.#directory(kind)}/${domainId}`;
  }
}

function ignoreCoordinator(error: unknown): void {
  if (!(error instanceof CoordinatorError)) throw error;
}
