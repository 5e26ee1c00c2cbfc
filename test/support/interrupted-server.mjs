// interrupted-server.mjs <command> <patterns> <server> [arguments]: an SFTP server that gets one request at a time. The command
// for a shell is run once, right before the request that matches the last of the patterns (regular expressions, a JSON array).
import { execSync, spawn } from 'node:child_process';

const [command, patterns, server, ...words] = process.argv.slice(2);
const child = spawn(server, words, { stdio: ['pipe', 'pipe', 'inherit'] });
const left = JSON.parse(patterns).map((pattern) => new RegExp(pattern, 's'));
const waiting = [];
let isBusy = false;

/** Calls `use` with each whole packet. */
function splitting(use) {
  let received = Buffer.alloc(0);
  return (part) => {
    received = Buffer.concat([received, part]);
    while (received.length >= 4 && received.length >= 4 + received.readUInt32BE()) {
      const lengthBytes = 4 + received.readUInt32BE();
      use(Buffer.from(received.subarray(0, lengthBytes)));
      received = received.subarray(lengthBytes);
    }
  };
}

function sendNext() {
  if (isBusy || waiting.length === 0) return;
  const packet = waiting.shift();
  isBusy = true;
  if (left.length > 0 && left[0].test(packet.toString('latin1'))) {
    left.shift();
    if (left.length === 0) execSync(command);
  }
  child.stdin.write(packet);
}

process.stdin.on(
  'data',
  splitting((packet) => {
    waiting.push(packet);
    sendNext();
  }),
);
child.stdout.on(
  'data',
  splitting((packet) => {
    process.stdout.write(packet);
    isBusy = false;
    sendNext();
  }),
);
process.stdin.on('end', () => child.stdin.end());
child.on('close', (code) => process.exit(code ?? 1));
