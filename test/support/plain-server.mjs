// plain-server.mjs <server>: an SFTP server that announces none of its extensions and ends if one is used. Like many
// servers that are not OpenSSH, it does not open directories as files.
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';

const SSH_FXP_VERSION = 2;
const SSH_FXP_OPEN = 3;
const SSH_FXP_EXTENDED = 200;
const PLAIN_VERSION = Buffer.from([0, 0, 0, 5, SSH_FXP_VERSION, 0, 0, 0, 3]);

/** SSH_FXP_STATUS with SSH_FX_FAILURE; the number of the request is to be filled in. */
const FAILURE = Buffer.from([0, 0, 0, 17, 101, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0]);

const child = spawn(process.argv[2], { stdio: ['pipe', 'pipe', 'inherit'] });

/** Calls `visit` with each packet, with its length before it. */
function forEachPacket(stream, visit) {
  let bytes = Buffer.alloc(0);
  stream.on('data', (part) => {
    bytes = bytes.length === 0 ? part : Buffer.concat([bytes, part]);
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE()) {
      const lengthBytes = 4 + bytes.readUInt32BE();
      visit(bytes.subarray(0, lengthBytes));
      bytes = bytes.subarray(lengthBytes);
    }
  });
}

function opensDirectory(packet) {
  if (packet[4] !== SSH_FXP_OPEN) return false;
  const path = packet.subarray(13, 13 + packet.readUInt32BE(9));
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

forEachPacket(process.stdin, (packet) => {
  if (packet[4] === SSH_FXP_EXTENDED) {
    process.stderr.write('an extension was used that was not announced\n');
    process.exit(1);
  }
  if (opensDirectory(packet)) {
    packet.copy(FAILURE, 5, 5, 9);
    process.stdout.write(Buffer.from(FAILURE));
  } else {
    child.stdin.write(packet);
  }
});
process.stdin.on('end', () => child.stdin.end());
forEachPacket(child.stdout, (packet) => process.stdout.write(packet[4] === SSH_FXP_VERSION ? PLAIN_VERSION : packet));
child.stdin.on('error', () => {});
child.on('exit', (code) => process.exit(code ?? 1));
