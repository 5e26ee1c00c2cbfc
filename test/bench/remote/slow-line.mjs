// slow-line.mjs <port to connect to> <delay in ms> <bytes per second>: a line between a client and a server of this
// machine, both ways with half of the delay, and with one rate for all connections. Prints the port where it listens, and
// ends with its standard input.
import { connect, createServer } from 'node:net';

const [target, delayMs, bytesPerSecond] = process.argv.slice(2).map(Number);
/** What waits on the line. More than fits into it only adds to the delay. */
const WAITING_BYTES = Math.max(256 * 1024, (bytesPerSecond * delayMs) / 1000);

/** One direction. */
function createLine() {
  let freeAtMs = 0;
  return (from, to) => {
    let waitingBytes = 0;
    let sending = Promise.resolve();
    from.on('data', (part) => {
      const nowMs = performance.now();
      freeAtMs = Math.max(freeAtMs, nowMs) + (part.length / bytesPerSecond) * 1000;
      const dueMs = freeAtMs + delayMs / 2;
      waitingBytes += part.length;
      if (waitingBytes > WAITING_BYTES) from.pause();
      sending = sending.then(async () => {
        const restMs = dueMs - performance.now();
        if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
        to.write(part);
        waitingBytes -= part.length;
        if (waitingBytes <= WAITING_BYTES) from.resume();
      });
    });
    from.on('end', () => (sending = sending.then(() => to.end())));
    from.on('error', () => to.destroy());
  };
}

const [up, down] = [createLine(), createLine()];
const server = createServer({ noDelay: true }, (client) => {
  const upstream = connect({ port: target, host: '127.0.0.1', noDelay: true });
  up(client, upstream);
  down(upstream, client);
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
process.stdin.on('end', () => process.exit(0)).resume();
