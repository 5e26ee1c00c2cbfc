// waits-server.mjs <file> <server> [arguments]: an SFTP server behind a line on which each answer takes its time. What is sent without a
// pause reaches the server together; each such burst is a wait, and adds a byte to the file. A request to close something,
// or for the limits of the server, which nothing waits for, is none.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';

/** Longer than a client takes between two requests of a burst. */
const PAUSE_MS = 30;
const SSH_FXP_CLOSE = 4;

const [file, server, ...words] = process.argv.slice(2);
const child = spawn(server, words, { stdio: ['pipe', 'pipe', 'inherit'] });
let received = Buffer.alloc(0);
let burst = [];
let timer;

function isWaitedFor(packet) {
  return packet[4] !== SSH_FXP_CLOSE && !packet.includes('limits@openssh.com');
}

function flush() {
  if (burst.some(isWaitedFor)) appendFileSync(file, '.');
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
