// waits-server.mjs <file> <server>: an SFTP server behind a line on which each answer takes its time. What is sent without a
// pause reaches the server together; each such burst is a wait, and adds a byte to the file. A request to close something,
// which nothing waits for, is none.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';

/** Longer than a client takes between two requests of a burst. */
const PAUSE_MS = 30;
const SSH_FXP_CLOSE = 4;

const [file, server] = process.argv.slice(2);
const child = spawn(server, { stdio: ['pipe', 'pipe', 'inherit'] });
let received = Buffer.alloc(0);
let burst = [];
let timer;

function flush() {
  if (burst.some((packet) => packet[4] !== SSH_FXP_CLOSE)) appendFileSync(file, '.');
  for (const packet of burst) child.stdin.write(packet);
  burst = [];
}

process.stdin.on('data', (part) => {
  received = Buffer.concat([received, part]);
  while (received.length >= 4 && received.length >= 4 + received.readUInt32BE()) {
    const lengthBytes = 4 + received.readUInt32BE();
    burst.push(Buffer.from(received.subarray(0, lengthBytes)));
    received = received.subarray(lengthBytes);
  }
  clearTimeout(timer);
  timer = setTimeout(flush, PAUSE_MS);
});
process.stdin.on('end', () => {
  clearTimeout(timer);
  flush();
  child.stdin.end();
});
child.stdout.pipe(process.stdout);
child.on('close', (code) => process.exit(code ?? 1));
