// sftp-fault-filter.mjs <directory> <command...>: runs the command, an SFTP client's connection, and disturbs what passes as
// <directory>/plan.json says. Each fault adds a byte to <directory>/fired. Without a plan, everything passes.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const SSH_FXP_INIT = 1;
const SSH_FXP_VERSION = 2;
const SSH_FXP_CLOSE = 4;
const SSH_FXP_STATUS = 101;
const SSH_FXP_DATA = 103;
const SSH_FX_FAILURE = 4;

const [directory, program, ...args] = process.argv.slice(2);
const firedFile = join(directory, 'fired');
const planFile = join(directory, 'plan.json');
const plan = existsSync(planFile)
  ? JSON.parse(readFileSync(planFile, 'utf8'))
  : { kind: 'none', at: Infinity, times: 0 };
const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
let requestCount = 0;
/** The id of the request whose answer meets the fault. */
let watchedId;
/** What waits for the end of a stall. */
let held;

/** Also of other connections of the same command. */
function mayFire() {
  return (existsSync(firedFile) ? statSync(firedFile).size : 0) < plan.times;
}

function fire() {
  appendFileSync(firedFile, '.');
}

function end() {
  child.kill('SIGKILL');
  process.exit(255);
}

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

function pass(target, packet) {
  if (held !== undefined) held.push([target, packet]);
  else target.write(packet);
}

function failureFor(id) {
  const body = Buffer.alloc(17);
  body.writeUInt8(SSH_FXP_STATUS, 0);
  body.writeUInt32BE(id, 1);
  body.writeUInt32BE(SSH_FX_FAILURE, 5);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length, body]);
}

function stall() {
  if (held !== undefined) return;
  fire();
  held = [];
  setTimeout(() => {
    const packets = held;
    held = undefined;
    for (const [target, packet] of packets) target.write(packet);
  }, plan.ms);
}

function signalClient(signal, packet) {
  if (plan.isPassed) pass(child.stdin, packet);
  fire();
  process.kill(process.ppid, signal);
  if (!plan.isPassed) pass(child.stdin, packet);
}

forEachPacket(process.stdin, (packet) => {
  const type = packet[4];
  requestCount += 1;
  const isDue = requestCount >= plan.at && type !== SSH_FXP_INIT && watchedId === undefined && mayFire();
  const id = packet.readUInt32BE(5);
  if (!isDue) return pass(child.stdin, packet);
  switch (plan.kind) {
    case 'reset':
      fire();
      return end();
    case 'client killed':
      return signalClient('SIGKILL', packet);
    case 'client suspended':
    case 'client suspended for long':
      return signalClient('SIGSTOP', packet);
    case 'failure':
      if (type === SSH_FXP_CLOSE) break;
      fire();
      return pass(process.stdout, failureFor(id));
    case 'stall':
    case 'stall of a minute':
    case 'silence of the server':
      stall();
      break;
    case 'lost answer':
    case 'half answer':
      if (type !== SSH_FXP_CLOSE) watchedId = id;
      break;
  }
  pass(child.stdin, packet);
});
process.stdin.on('end', () => child.stdin.end());
child.stdin.on('error', () => {});
process.stdout.on('error', () => {});

forEachPacket(child.stdout, (packet) => {
  if (watchedId !== undefined && packet[4] !== SSH_FXP_VERSION && packet.readUInt32BE(5) === watchedId) {
    fire();
    if (plan.kind === 'lost answer') return end();
    process.stdout.write(packet.subarray(0, packet.length >> 1), end);
    return;
  }
  const isDamaged = plan.kind === 'damaged answer' && packet[4] === SSH_FXP_DATA && requestCount >= plan.at;
  if (isDamaged && mayFire()) {
    fire();
    packet = Buffer.from(packet);
    packet[13 + ((requestCount * 101) % (packet.length - 13))] ^= 1 << (requestCount % 8);
  }
  pass(process.stdout, packet);
});
child.on('exit', (code) => process.exit(code ?? 255));
