// lying-server.mjs <server> <offset> <count>: an SFTP server that changes a bit at this offset of the first attributes that
// it sends of an open file, as many times.
import { spawn } from 'node:child_process';

const SSH_FXP_FSTAT = 8;
const SSH_FXP_ATTRS = 105;

const [server, offset, count] = process.argv.slice(2);
const child = spawn(server, { stdio: ['pipe', 'pipe', 'inherit'] });
const asked = new Set();
let left = Number(count);

/** Calls `visit` with each packet, with its length before it. */
function forEachPacket(stream, visit) {
  let bytes = Buffer.alloc(0);
  stream.on('data', (part) => {
    bytes = Buffer.concat([bytes, part]);
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE()) {
      const lengthBytes = 4 + bytes.readUInt32BE();
      visit(Buffer.from(bytes.subarray(0, lengthBytes)));
      bytes = bytes.subarray(lengthBytes);
    }
  });
}

forEachPacket(process.stdin, (packet) => {
  if (packet[4] === SSH_FXP_FSTAT) asked.add(packet.readUInt32BE(5));
  child.stdin.write(packet);
});
process.stdin.on('end', () => child.stdin.end());
forEachPacket(child.stdout, (packet) => {
  if (packet[4] === SSH_FXP_ATTRS && asked.has(packet.readUInt32BE(5)) && left > 0) {
    left -= 1;
    packet[Number(offset)] ^= 0x10;
  }
  process.stdout.write(packet);
});
child.on('exit', (code) => process.exit(code ?? 1));
