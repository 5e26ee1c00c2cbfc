// stream-fault-filter.mjs <directory> <command...>: runs the command, which a client talks to in any protocol over its
// standard streams, and disturbs what passes as <directory>/plan.json says. A request is what the client sends at once. Each
// fault adds a byte to <directory>/fired.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const [directory, program, ...args] = process.argv.slice(2);
const firedFile = join(directory, 'fired');
const planFile = join(directory, 'plan.json');
const plan = existsSync(planFile)
  ? JSON.parse(readFileSync(planFile, 'utf8'))
  : { kind: 'none', at: Infinity, times: 0 };
const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
let firedCount = existsSync(firedFile) ? statSync(firedFile).size : 0;
let requestCount = 0;
let isAnswerLost = false;

function fire() {
  firedCount += 1;
  appendFileSync(firedFile, '.');
}

function end() {
  child.kill('SIGKILL');
  process.exit(255);
}

process.stdin.on('data', (part) => {
  requestCount += 1;
  if (requestCount < plan.at || firedCount >= plan.times || isAnswerLost) {
    child.stdin.write(part);
    return;
  }
  fire();
  switch (plan.kind) {
    case 'reset':
      return end();
    case 'half request':
      child.stdin.write(part.subarray(0, part.length >> 1), end);
      return;
    case 'lost answer':
      isAnswerLost = true;
      break;
    case 'stall':
    case 'stall of a minute':
      process.stdin.pause();
      child.stdout.pause();
      setTimeout(() => {
        process.stdin.resume();
        child.stdout.resume();
      }, plan.ms);
      break;
    case 'client killed':
      if (plan.isPassed) child.stdin.write(part);
      process.kill(process.ppid, 'SIGKILL');
      return end();
  }
  child.stdin.write(part);
});
process.stdin.on('end', () => child.stdin.end());
child.stdin.on('error', () => {});
process.stdout.on('error', () => {});
child.stdout.on('data', (part) => {
  if (isAnswerLost) end();
  else process.stdout.write(part);
});
child.on('exit', (code) => process.exit(code ?? 255));
