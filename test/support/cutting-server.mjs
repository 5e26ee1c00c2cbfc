// cutting-server.mjs <command> <directory> <bytes> <cuts> ...: an SFTP server that is killed, as with `kill -9`, when about
// so many bytes have passed since its start, in either direction. Each kill leaves a file in the directory; after <cuts>
// of them, the server stays. The command that starts it is a JSON array. Further arguments, which are for ssh, are ignored.
import { spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [command, directory, bytes, cuts] = process.argv.slice(2);
const [program, ...args] = JSON.parse(command);
const count = readdirSync(directory).length;
// Different each time, so that different requests are cut.
const limit = count >= Number(cuts) ? Infinity : Number(bytes) * (0.5 + ((count * 0.618) % 1));
const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
let passedBytes = 0;

function pass(from, to) {
  from.on('data', (part) => {
    passedBytes += part.length;
    if (passedBytes <= limit) {
      to.write(part);
      return;
    }
    // The first half of the part arrives.
    to.write(part.subarray(0, part.length >> 1), () => {
      writeFileSync(join(directory, String(count)), '');
      child.kill('SIGKILL');
      process.exit(255);
    });
    from.pause();
  });
  from.on('end', () => to.end());
}

pass(process.stdin, child.stdin);
pass(child.stdout, process.stdout);
child.stdin.on('error', () => {});
child.on('exit', (code) => process.exit(code ?? 255));
