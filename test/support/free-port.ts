import { createServer } from 'node:net';

/** Below the ports that the kernel gives away itself, so that no other connection takes the port of a killed server. */
const FIRST_PORT = 10_000;
const PORT_COUNT = 20_000;
/** Test processes seldom ask for more, so each tries ports of its own first. */
const PORTS_PER_PROCESS = 37;
const ATTEMPTS_MAX = 10;

let portCount = 0;

/** A server has ended instead of answering, since somebody else has taken its port, for example. */
export class ServerEndedError extends Error {}

/** A port of the loopback address that was free a moment ago. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + ((process.pid * PORTS_PER_PROCESS + portCount) % PORT_COUNT);
    portCount += 1;
    if (await isFree(port)) return port;
  }
}

/** Starts a server on a free port. If it ends at once, somebody may have been faster: it starts on another port. */
export async function onFreePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(await freePort());
    } catch (error) {
      if (!(error instanceof ServerEndedError) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
