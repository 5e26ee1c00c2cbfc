/** The part of node-zookeeper-client 1.1 that ldm uses. The package has no types. */
declare module 'node-zookeeper-client' {
  export interface Stat {
    readonly version: number;
    /** Eight bytes; zeros for a znode that is not ephemeral. */
    readonly ephemeralOwner: Buffer;
  }

  export interface State {
    getName(): string;
  }

  type Callback<T> = (error: Error | null, result: T, stat: Stat) => void;

  export interface Client {
    /** Not documented. */
    readonly connectionManager: {
      onSocketData: (data: Buffer) => void;
      pendingBuffer: Buffer | null;
      readonly socket?: { destroy(): void } | undefined;
    };
    connect(): void;
    close(): void;
    getState(): State;
    getSessionId(): Buffer;
    on(event: 'state', listener: (state: State) => void): this;
    off(event: 'state', listener: (state: State) => void): this;
    create(path: string, data: Buffer, mode: number, callback: Callback<string>): void;
    mkdirp(path: string, callback: Callback<string>): void;
    remove(path: string, callback: Callback<void>): void;
    exists(path: string, callback: Callback<Stat | null>): void;
    exists(path: string, watcher: () => void, callback: Callback<Stat | null>): void;
    getData(path: string, callback: Callback<Buffer | undefined>): void;
    getData(path: string, callback: Callback<Buffer>): void;
    setData(path: string, data: Buffer, version: number, callback: Callback<Stat>): void;
    getChildren(path: string, callback: Callback<string[]>): void;
    getChildren(path: string, watcher: () => void, callback: Callback<string[]>): void;
  }

  export const State: { readonly SYNC_CONNECTED: State; readonly EXPIRED: State; readonly DISCONNECTED: State };
  export const CreateMode: { readonly PERSISTENT: number; readonly EPHEMERAL: number };
  export function createClient(
    connectionString: string,
    options: { readonly sessionTimeout: number; readonly retries: number },
  ): Client;
}
