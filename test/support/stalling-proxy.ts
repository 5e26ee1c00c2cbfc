import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** A proxy on loopback that can stop forwarding, without ending a connection: a network partition. */
export class StallingProxy implements AsyncDisposable {
  /** Bytes that were held back or dropped. */
  stalledBytes = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isStalled = false;
  #isCut = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Forwards to a port of the loopback address. */
  static async start(target: number): Promise<StallingProxy> {
    const server = createServer();
    const proxy = new StallingProxy(server);
    server.on('connection', (client) => proxy.#forward(client, target));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** From now on, nothing passes. */
  stall(): void {
    this.#isStalled = true;
  }

  /** New connections pass again. What was stalled stays so. */
  resume(): void {
    this.#isStalled = false;
  }

  /** Ends all connections, and accepts none. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #forward(client: Socket, target: number): void {
    if (this.#isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(target, '127.0.0.1');
    // A connection that was stalled once has lost bytes.
    let isLost = false;
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        if (!isLost) to.destroy();
      });
      from.on('data', (data) => {
        isLost ||= this.#isStalled;
        if (isLost) this.stalledBytes += data.length;
        else to.write(data);
      });
    }
  }
}
