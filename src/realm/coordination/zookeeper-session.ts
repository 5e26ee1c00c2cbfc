import type { Client, State, Stat } from 'node-zookeeper-client';
import { CoordinatorError } from './realm-errors.ts';

/** What the package exports, loaded when a realm is used. */
export type ZooKeeperPackage = typeof import('node-zookeeper-client');

interface SessionOptions {
  /** After how long without contact the server removes what was announced. */
  readonly sessionTimeoutMs: number;
  /** How long a call may take, with the connection. */
  readonly deadlineMs: number;
  /** Called when a new session has begun, and when a connection is back: changes may have been missed. */
  readonly onReconnect: () => void;
}

type Callback<T> = (error: Error | null, result: T, stat: Stat) => void;

/**
 * A connection to ZooKeeper that survives its sessions.
 *
 * The package leaves three things to its user. A call on a client whose session has expired may never end, so each call has
 * a deadline of its own, and fails at once when its client is discarded. The client is not told that its session has expired while the network is down, so it is
 * discarded when nothing has been heard for as long as a session lasts. And a client does not begin a second session,
 * so a new client is made.
 */
export class ZooKeeperSession {
  readonly #package: ZooKeeperPackage;
  readonly #servers: string;
  readonly #options: SessionOptions;
  #client: Client | undefined;
  /** Fails what waits for the client. */
  #discard = new AbortController();
  #connecting: Promise<Client> | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #lastAnswer = 0;
  #isClosed = false;
  #wasConnected = false;

  constructor(loaded: ZooKeeperPackage, servers: string, options: SessionOptions) {
    this.#package = loaded;
    this.#servers = servers;
    this.#options = options;
  }

  /**
   * Runs a call of the package. Returns the name of the ZooKeeper error if the call was answered with one of `expected`.
   * @throws CoordinatorError
   */
  async call<T>(
    start: (client: Client, callback: Callback<T>) => void,
    expected: readonly string[] = [],
  ): Promise<{ readonly result: T; readonly stat: Stat } | { readonly refused: string }> {
    const client = await this.#connected();
    return await this.#withinDeadline(
      new Promise((resolve, reject) => {
        start(client, (error, result, stat) => {
          if (error === null || error === undefined) {
            this.#lastAnswer = performance.now();
            resolve({ result, stat });
            return;
          }
          const name = 'name' in error ? error.name : '';
          if (expected.includes(name)) {
            this.#lastAnswer = performance.now();
            resolve({ refused: name });
          } else reject(this.#failure(error.message, error));
        });
      }),
      client,
    );
  }

  /** Begins to notice a lost session without a call, for who watches or has announced something. */
  keepAlive(): void {
    if (this.#heartbeat !== undefined) return;
    this.#heartbeat = setInterval(() => {
      // What has failed is tried again next time.
      void this.call((client, callback: Callback<Stat | null>) => client.exists('/', callback)).catch(() => undefined);
    }, this.#options.sessionTimeoutMs / 3);
    this.#heartbeat.unref();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#heartbeat);
    this.#giveUp();
  }

  async #connected(): Promise<Client> {
    if (this.#isClosed) throw this.#failure('the connection is closed');
    const isSilent = performance.now() - this.#lastAnswer > this.#options.sessionTimeoutMs;
    const isUp = this.#client?.getState() === this.#package.State.SYNC_CONNECTED;
    if (this.#client !== undefined && isUp && !isSilent) return this.#client;
    // The session is over, or may be; a client that is about to reconnect to it may have missed that.
    if (this.#client !== undefined && isSilent) this.#giveUp();
    this.#connecting ??= this.#connect();
    const connecting = this.#connecting;
    try {
      return await connecting;
    } finally {
      if (this.#connecting === connecting) this.#connecting = undefined;
    }
  }

  async #connect(): Promise<Client> {
    const { sessionTimeoutMs: sessionTimeout } = this.#options;
    const client = this.#client ?? this.#package.createClient(this.#servers, { sessionTimeout, retries: 0 });
    const isNew = client !== this.#client;
    this.#client = client;
    const up = new Promise<Client>((resolve) => {
      const onState = (state: State): void => {
        if (state !== this.#package.State.SYNC_CONNECTED) return;
        client.off('state', onState);
        resolve(client);
      };
      client.on('state', onState);
      if (client.getState() === this.#package.State.SYNC_CONNECTED) onState(this.#package.State.SYNC_CONNECTED);
    });
    if (isNew) {
      this.#guardParser(client);
      client.on('state', (state: State) => this.#onState(client, state));
      client.connect();
    }
    return await this.#withinDeadline(up, client);
  }

  /**
   * A packet that the package does not understand makes it throw in an event of its socket, which would end the process.
   * It also keeps half a packet of one connection for the next. So the client is discarded.
   */
  #guardParser(client: Client): void {
    const manager = client.connectionManager;
    const parse = manager.onSocketData.bind(manager);
    manager.onSocketData = (data) => {
      try {
        parse(data);
      } catch {
        manager.pendingBuffer = null;
        if (client === this.#client) this.#giveUp();
        manager.socket?.destroy();
      }
    };
    client.on('state', (state: State) => {
      if (state === this.#package.State.DISCONNECTED) manager.pendingBuffer = null;
    });
  }

  #onState(client: Client, state: State): void {
    if (client !== this.#client) return;
    const { SYNC_CONNECTED, EXPIRED } = this.#package.State;
    if (state === EXPIRED) this.#giveUp();
    if (state !== SYNC_CONNECTED) return;
    this.#lastAnswer = performance.now();
    // The first connection has missed nothing.
    if (this.#wasConnected) setImmediate(() => this.#options.onReconnect());
    this.#wasConnected = true;
  }

  #giveUp(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#connecting = undefined;
    this.#discard.abort();
    this.#discard = new AbortController();
    // It ends its session if it can.
    client?.close();
  }

  async #withinDeadline<T>(work: Promise<T>, client: Client): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const { signal } = this.#discard;
    let onDiscard = (): void => undefined;
    const late = new Promise<never>((_, reject) => {
      onDiscard = (): void => reject(this.#failure('the session has ended'));
      signal.addEventListener('abort', onDiscard);
      timer = setTimeout(() => {
        reject(this.#failure(`no answer within ${this.#options.deadlineMs / 1000} s`));
        if (client === this.#client) this.#giveUp();
      }, this.#options.deadlineMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onDiscard);
    }
  }

  #failure(reason: string, cause?: unknown): CoordinatorError {
    return new CoordinatorError(`ZooKeeper at ${this.#servers}: ${reason}`, {
      hint: 'Check that the servers run and can be reached.',
      cause,
    });
  }
}
