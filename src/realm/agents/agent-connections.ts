import type { Server, Socket } from 'node:net';

/** A member needs its connection without the token only for a moment. */
export const STRANGERS_PER_NETWORK_MAX = 32;

interface ConnectionLimits {
  readonly connectionsMax: number;
  /** How long a connection may take for its handshake and a request with the token. */
  readonly admissionMs: number;
}

interface Stranger {
  readonly socket: Socket;
  readonly network: string | undefined;
  readonly timer: NodeJS.Timeout;
}

/**
 * Keeps connections that have not shown the token from those that have. Strangers have little time, there are few of one
 * network, and they make room for every newer connection, so that many silent connections do not
 * keep members out.
 */
export class AgentConnections {
  readonly #limits: ConnectionLimits;
  readonly #all = new Set<Socket>();
  /** Oldest first. With TLS, a request has another socket than its connection, so this goes by the port of the client. */
  readonly #strangers = new Map<string | Socket, Stranger>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket));
  }

  /** The connection has sent a request with the token. */
  admit(socket: Socket): void {
    this.#forget(keyOf(socket));
  }

  #add(socket: Socket): void {
    const { connectionsMax, admissionMs } = this.#limits;
    const key = keyOf(socket);
    const timer = setTimeout(() => socket.destroy(), admissionMs);
    this.#all.add(socket);
    this.#strangers.set(key, { socket, network: networkOf(socket.remoteAddress), timer });
    socket.once('close', () => {
      this.#all.delete(socket);
      if (this.#strangers.get(key)?.socket === socket) this.#forget(key);
    });
    this.#limitNetwork(key);
    // This one is a stranger too, and the last to go.
    if (this.#all.size > connectionsMax) this.#drop([...this.#strangers.keys()][0]!);
  }

  #limitNetwork(added: string | Socket): void {
    const { network } = this.#strangers.get(added)!;
    if (network === undefined) return;
    const same = [...this.#strangers].filter(([, each]) => each.network === network);
    if (same.length > STRANGERS_PER_NETWORK_MAX) this.#drop(same[0]![0]);
  }

  #drop(key: string | Socket): void {
    const { socket } = this.#strangers.get(key)!;
    this.#forget(key);
    this.#all.delete(socket);
    socket.destroy();
  }

  #forget(key: string | Socket): void {
    clearTimeout(this.#strangers.get(key)?.timer);
    this.#strangers.delete(key);
  }
}

function keyOf(socket: Socket): string | Socket {
  const { remoteAddress, remotePort } = socket;
  return remoteAddress === undefined ? socket : `${remoteAddress} ${remotePort}`;
}

/** An IPv4 address, or the first 64 bits of an IPv6 address, which is what one machine has. Undefined for a socket file. */
export function networkOf(address: string | undefined): string | undefined {
  if (address === undefined || address.includes('.')) return address?.slice(address.lastIndexOf(':') + 1);
  const [before = '', after] = address.split('::');
  const [first, last] = [before, after ?? ''].map((part) => (part === '' ? [] : part.split(':'))) as [
    string[],
    string[],
  ];
  const between = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0');
  return [...first, ...between, ...last]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
