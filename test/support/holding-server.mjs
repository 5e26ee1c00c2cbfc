// holding-server.mjs <server> <bytes>: an SFTP server whose answers are held back from the first fsync on, until this many
// more bytes were written.
import { spawn } from 'node:child_process';

const SSH_FXP_WRITE = 6;
const SSH_FXP_EXTENDED = 200;

const [server, bytes] = process.argv.slice(2);
const child = spawn(server, { stdio: ['pipe', 'pipe', 'inherit'] });
let received = Buffer.alloc(0);
let hasSynced = false;
let missingBytes = Number(bytes);
const held = [];

function follow(packet) {
  if (packet[4] === SSH_FXP_EXTENDED) hasSynced ||= packet.includes('fsync@openssh.com');
  else if (hasSynced && packet[4] === SSH_FXP_WRITE) missingBytes -= packet.length;
  if (missingBytes <= 0) for (const answer of held.splice(0)) process.stdout.write(answer);
}

process.stdin.on('data', (part) => {
  child.stdin.write(part);
  received = Buffer.concat([received, part]);
  while (received.length >= 4 && received.length >= 4 + received.readUInt32BE()) {
    const lengthBytes = 4 + received.readUInt32BE();
    follow(received.subarray(0, lengthBytes));
    received = received.subarray(lengthBytes);
  }
});
process.stdin.on('end', () => child.stdin.end());
child.stdout.on('data', (answer) => {
  if (hasSynced && missingBytes > 0) held.push(answer);
  else process.stdout.write(answer);
});
child.on('close', (code) => process.exit(code ?? 1));
